localrules:
    fetch,


# Downloads go first, so that a missing file shows within seconds and not after hours.
rule fetch:
    output:
        f"{CONFIG.data_dir}/{{data_file}}",
    log:
        "logs/data/{data_file}.log",
    wildcard_constraints:
        data_file="|".join(re.escape(path) for path in DATA_NAMES),
    priority: 100
    retries: 1
    conda:
        "../../envs/environment.yaml"
    params:
        name=lambda wildcards: DATA_NAMES[wildcards.data_file],
    shell:
        "replibo fetch {params.name} > {log} 2>&1"
