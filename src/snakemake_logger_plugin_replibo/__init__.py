"""Snakemake's logger ``replibo`` (``snakemake --logger replibo``), found by this package's name."""

from replibo.workflow.progress_line import LogHandler as LogHandler
