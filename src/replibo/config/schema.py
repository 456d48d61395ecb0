"""The JSON schema of the config, generated from the typed models.

``python -m replibo.config.schema workflow/schemas/config.schema.json`` writes it again (``make
schema``); a test holds the committed file to the models.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from replibo.config.models import Config, PaperEntry


def schema() -> dict[str, Any]:
    """The schema of the merged config: ``config.yaml``'s keys, and one paper entry per paper."""
    config = Config.model_json_schema()
    paper = PaperEntry.model_json_schema()
    definitions = {**config.pop("$defs", {}), **paper.pop("$defs", {}), "PaperEntry": paper}
    del config["properties"]["entries"]
    config["additionalProperties"] = {"$ref": "#/$defs/PaperEntry"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": definitions,
        **config,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the config's JSON schema.")
    parser.add_argument("output", type=Path, help="JSON file")
    parser.parse_args().output.write_text(json.dumps(schema(), indent=2, sort_keys=True) + "\n")
