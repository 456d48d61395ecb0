from replibo.workflow import costs


rule run:
    input:
        # A data file that is there is verified when it is read; a newer date changes nothing.
        data=lambda wildcards: ancient(data_of_run(wildcards)),
    output:
        paths.BLOCK,
    log:
        "logs/{scale}/{paper}/{problem}/{algorithm}/seeds_{block}.log",
    wildcard_constraints:
        scale=MADE,
    conda:
        "../../envs/environment.yaml"
    # One thread: the number of threads changes results bitwise. Parallelism comes from the DAG.
    threads: 1
    # From the published timings, with a safety factor; more of both at each further attempt, which goes
    # on from the journal of the last one.
    resources:
        mem_mb=lambda wildcards, attempt: attempt
        * costs.resources(CONFIG, **dict(wildcards.items())).memory_mb,
        runtime=lambda wildcards, attempt: attempt
        * costs.resources(CONFIG, **dict(wildcards.items())).runtime_minutes,
    params:
        digest=of(targets.run_digest),
    shell:
        "replibo run {wildcards.paper} {wildcards.problem} {wildcards.algorithm} "
        "--seeds {wildcards.block} --scale {wildcards.scale} --output {output} > {log} 2>&1"


localrules:
    collect,


# Only where a problem and algorithm have several blocks: a single one is read as it is.
rule collect:
    input:
        of(targets.block_files),
    output:
        paths.COLLECTED,
    log:
        "logs/{scale}/{paper}/{problem}/{algorithm}/collect.log",
    wildcard_constraints:
        scale=MADE,
    conda:
        "../../envs/environment.yaml"
    params:
        digest=code.digest("replibo.run.collect.collect"),
        # x is kept for the best queries up to each of them
        horizons=lambda wildcards: sorted(
            CONFIG.paper(wildcards.paper).horizons(wildcards.scale, wildcards.problem)
        ),
    shell:
        "replibo collect {wildcards.paper} {wildcards.problem} {wildcards.algorithm} "
        "--scale {wildcards.scale} --output {output} > {log} 2>&1"
