from replibo.workflow import site


localrules:
    site,


# A target of its own, not part of `all`: snakemake --cores 2 results/published/site/index.html
rule site:
    input:
        of(site.inputs),
    output:
        paths.SITE,
    log:
        "logs/{scale}/site.log",
    conda:
        "../../envs/environment.yaml"
    params:
        digest=code.digest("replibo.workflow.site.write"),
    shell:
        "replibo site --scale {wildcards.scale} --output {output} > {log} 2>&1"
