"""What a run found, for people: the HTML report, terminal tables, plots and contact sheets."""
