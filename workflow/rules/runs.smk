from replibo.workflow import estimate


rule run:
    input:
        # A data file that is there is verified when it is read; a newer date changes nothing.
        data=lambda wildcards: ancient(data_of_run(wildcards)),
    output:
        "results/{scale}/{paper}/{problem}/{algorithm}/seeds_{block}.parquet",
    log:
        "logs/{scale}/{paper}/{problem}/{algorithm}/seeds_{block}.log",
    benchmark:
        "logs/{scale}/{paper}/{problem}/{algorithm}/seeds_{block}.benchmark.tsv"
    wildcard_constraints:
        scale="|".join(models.SCALES),
    conda:
        "../../envs/environment.yaml"
    # One thread: the number of threads changes results bitwise. Parallelism comes from the DAG.
    threads: 1
    # From the published timings, with a safety factor; more of both at each further attempt, which goes
    # on from the journal of the last one.
    resources:
        mem_mb=lambda wildcards, attempt: attempt
        * estimate.resources(CONFIG, **dict(wildcards.items())).memory_mb,
        runtime=lambda wildcards, attempt: attempt
        * estimate.resources(CONFIG, **dict(wildcards.items())).runtime_minutes,
    params:
        digest=digest_of_run,
    shell:
        "replibo run {wildcards.paper} {wildcards.problem} {wildcards.algorithm} "
        "--seeds {wildcards.block} --scale {wildcards.scale} --output {output} > {log} 2>&1"


localrules:
    collect,
    published_runs,


rule collect:
    input:
        lambda wildcards: targets.run_files(CONFIG, wildcards.paper, wildcards.scale),
    output:
        "results/{scale}/{paper}/runs.parquet",
    log:
        "logs/{scale}/{paper}/collect.log",
    benchmark:
        "logs/{scale}/{paper}/collect.benchmark.tsv"
    wildcard_constraints:
        scale="|".join(models.SCALES),
    conda:
        "../../envs/environment.yaml"
    params:
        digest=code.digest("replibo.results.runs"),
    shell:
        "replibo collect {wildcards.paper} --scale {wildcards.scale} --output {output} > {log} 2>&1"


# The pseudo-scale `published`: the traces are read from the repository instead of computed.
rule published_runs:
    input:
        lambda wildcards: targets.published_files(wildcards.paper),
    output:
        "results/published/{paper}/runs.parquet",
    log:
        "logs/published/{paper}/runs.log",
    benchmark:
        "logs/published/{paper}/runs.benchmark.tsv"
    conda:
        "../../envs/environment.yaml"
    params:
        digest=code.digest("replibo.results.publish"),
    shell:
        "replibo collect {wildcards.paper} --scale published --output {output} > {log} 2>&1"
