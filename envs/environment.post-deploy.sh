#!/usr/bin/env bash
# Snakemake runs this in the new environment, in the folder where it was started: the project's root.
# A changed requirements.txt does not make the environment anew: delete it, or run this script in it again.
set -euo pipefail
python -m pip install -r envs/requirements.txt -e '.[coco,robot,workflow,docs]'
