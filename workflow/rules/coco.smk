# COCO's own tools on the runs of Figure 2 of NeuralBO: a target of its own, not part of `all`.
#   snakemake --cores 2 results/quick/neuralbo/cocopp
localrules:
    coco_archive,
    coco_postprocess,


rule coco_archive:
    input:
        archived_files,
    output:
        directory("results/{scale}/neuralbo/coco/{algorithm}"),
    log:
        "logs/{scale}/neuralbo/coco_{algorithm}.log",
    benchmark:
        "logs/{scale}/neuralbo/coco_{algorithm}.benchmark.tsv"
    wildcard_constraints:
        scale=MADE,
    conda:
        "../../envs/environment.yaml"
    params:
        digest=code.digest("replibo.papers.neuralbo.coco_archive"),
    shell:
        "python -m replibo.papers.neuralbo.coco_archive archive {wildcards.algorithm} --scale {wildcards.scale} "
        "--output {output} > {log} 2>&1"


rule coco_postprocess:
    input:
        archived_folders,
    output:
        directory("results/{scale}/neuralbo/cocopp"),
    log:
        "logs/{scale}/neuralbo/cocopp.log",
    benchmark:
        "logs/{scale}/neuralbo/cocopp.benchmark.tsv"
    wildcard_constraints:
        scale=MADE,
    conda:
        "../../envs/environment.yaml"
    params:
        digest=code.digest("replibo.papers.neuralbo.coco_archive"),
    shell:
        "python -m replibo.papers.neuralbo.coco_archive postprocess {input} --output {output} > {log} 2>&1"
