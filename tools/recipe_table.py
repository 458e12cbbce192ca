#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains by every recipe given, with each of its variants of a method, and prints a Markdown table of their changes.

    python3 tools/recipe_table.py --simile build/release/cli/simile-training --output runs/recipes \
        recipes/methods/*.yaml > table.md
    python3 tools/recipe_table.py ... --with data=../shared/data/stsb recipes/methods/graded.yaml

Overrides of --with come first, before the variant. Columns: the loss on data set aside before and after (`loss.all`,
where the recipe measures it), the evaluation before and after, and seconds. Runs that are complete in the output folder
are not repeated.
"""
import argparse
import json
import os
import re
import subprocess
import sys


def read_run(folder):
    evaluations = {}
    with open(os.path.join(folder, 'metrics.jsonl'), encoding='utf-8') as lines:
        for line in map(json.loads, lines):
            if 'evaluation' in line:
                for metric, value in line['metrics'].items():
                    evaluations.setdefault('%s.%s' % (line['evaluation'], metric), []).append(value)
    with open(os.path.join(folder, 'results.json'), encoding='utf-8') as results:
        return evaluations, json.load(results)


def methods(recipe):
    """The overrides that choose each variant, except those with a data set of their own; none for the unchanged recipe."""
    with open(recipe, encoding='utf-8') as file:
        variants = file.read().partition('\nvariants:\n')[2]
    blocks = re.findall(r'^  ([\w-]+):((?:.*\n)(?:    .*\n)*)', variants, re.MULTILINE)
    return [[]] + [['variant=' + name] for name, block in blocks
                   if not re.search(r'\A \{data:|^    data:', block, re.MULTILINE)]


def row(command, folder):
    evaluations, results = read_run(folder)
    cells = ['`%s`' % command]
    losses = evaluations.get('loss.all')
    cells.append('%.4f → %.4f' % (losses[0], min(losses)) if losses else '')
    if not results['reports']:
        return '| ' + ' | '.join(cells + ['', '%.0f' % results['seconds']]) + ' |'
    report = results['reports'][0]
    metric = next(iter(report['metrics']))
    before = [r for r in results['reports']
              if r['name'] == report['name'] and r['model'] in ('zero-shot', 'untrained')]
    start = '%.2f → ' % (100 * before[0]['metrics'][metric]) if before else ''
    cells.append('%s %s %s%.2f' % (report['name'], metric, start, 100 * report['metrics'][metric]))
    cells.append('%.0f' % results['seconds'])
    return '| ' + ' | '.join(cells) + ' |'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--simile', required=True)
    parser.add_argument('--output', required=True)
    parser.add_argument('--with', dest='overrides', action='append', default=[], metavar='KEY=VALUE')
    parser.add_argument('recipes', nargs='+')
    arguments = parser.parse_args()
    print('| recipe | loss set aside | evaluation | s |\n| --- | --- | --- | --- |', flush=True)
    failed = 0
    for run in [[recipe] + arguments.overrides + method
                for recipe in arguments.recipes for method in methods(recipe)]:
        command = ' '.join(run)
        folder = os.path.join(arguments.output, re.sub(r'[^\w.=-]+', '-', command))
        if not os.path.exists(os.path.join(folder, 'results.json')):
            done = subprocess.run([arguments.simile, 'train'] + run + ['--output', folder, '--quiet', '--overwrite'],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0:
                failed += 1
                print('| `%s` | failed | %s | |' % (command, done.stderr.strip().replace('\n', ' ')), flush=True)
                continue
        print(row(command, folder), flush=True)
    sys.exit(1 if failed else 0)


main()
