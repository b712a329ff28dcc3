"""InstaBind-Lite: which of several instances of one class does an attribute belong to?"""
