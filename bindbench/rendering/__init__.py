"""The embedded image generator: meshes, scenes, rooms, faults and the ray tracer."""
