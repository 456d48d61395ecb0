from replibo.workflow import page


localrules:
    page,


# A target of its own, not part of `all`: snakemake --cores 2 results/published/page/index.html
rule page:
    input:
        lambda wildcards: page.inputs(CONFIG, wildcards.scale),
    output:
        paths.PAGE,
    log:
        "logs/{scale}/page.log",
    benchmark:
        "logs/{scale}/page.benchmark.tsv"
    conda:
        "../../envs/environment.yaml"
    params:
        digest=code.digest("replibo.workflow.page.write"),
    shell:
        "replibo page --scale {wildcards.scale} --output {output} > {log} 2>&1"
