"""Files: run directories, problems, and files that appear whole or not at all; `formats`: files for other programs."""
