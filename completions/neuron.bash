# SPDX-License-Identifier: MIT
# bash completion for the programs of this project. A program's own --help lists its options, so
# that they are named in one place; only values are known here.
# shellcheck shell=bash

_neuron_options() {
    "$@" --help 2>/dev/null | grep -E '^ +-' | sed -E 's/^ +//; s/  .*//' |
        grep -oE -- '--[a-z][a-z0-9-]*' | sort -u
}

_neuron() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local -a command=("$program")

    case ${program##*/}:$before in
    neuron-ls:--format) mapfile -t COMPREPLY < <(compgen -W 'classic 1.0.11054 1.16 2.9 modern' -- "$word") && return ;;
    neuron-profile:"$program" | neuron-explorer:"$program")
        mapfile -t COMPREPLY < <(compgen -W 'start-session stop-session show-session --help' -- "$word")
        return
        ;;
    neuron-bench:"$program") mapfile -t COMPREPLY < <(compgen -W 'exec --help --version' -- "$word") && return ;;
    neuron-bench:-f | neuron-bench:--fill) mapfile -t COMPREPLY < <(compgen -W 'random zeros' -- "$word") && return ;;
    neuron-bench:--framework) mapfile -t COMPREPLY < <(compgen -W 'XLA StableHLO ONNX IR' -- "$word") && return ;;
    neuron-vm:--accel) mapfile -t COMPREPLY < <(compgen -W 'auto kvm tcg' -- "$word") && return ;;
    neuron-vm:--machine) mapfile -t COMPREPLY < <(compgen -W 'pc q35' -- "$word") && return ;;
    neuron-vm:--instance)
        mapfile -t COMPREPLY < <(compgen -W "$("$program" types | sed '1d; s/ .*//')" -- "$word")
        return
        ;;
    neuron-vm:stop | neuron-vm:ssh | neuron-vm:logs | neuron-vm:--vm)
        if [[ $word != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$("$program" list | sed '1d; s/ .*//')" -- "$word")
            return
        fi
        ;;
    neuron-vm:nd[0-9]*)
        mapfile -t COMPREPLY < <(compgen -S = -W "$("$program" fault --help | sed '1,/^faults:/d; s/^  \([a-z][a-z-]*\) .*/\1/; /^ /d; /^$/,$d')" -- "$word")
        return
        ;;
    neuron-vm:"$program")
        mapfile -t COMPREPLY < <(compgen -W 'types run prepare exec list stop ssh cp logs fault --help' -- "$word")
        return
        ;;
    esac
    if [[ ${program##*/} == neuron-packager && $COMP_CWORD -eq 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'create info optimize unpack --help --version' -- "$word")
        return
    fi
    if [[ ${program##*/} == neuron-@(vm|packager) && ${COMP_WORDS[1]} != -* ]]; then
        command+=("${COMP_WORDS[1]}")
    fi
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_neuron_options "${command[@]}")" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}

complete -o filenames -F _neuron neuron-ls neuron-bench neuron-run neuron-as neuron-objdump neuron-cli neuron-custom-op neuron-dump neuron-emud neuron-explorer neuron-gatherinfo neuron-monitor neuron-packager neuron-profile neuron-rtd neuron-top neuron-vm \
    neuron-monitor-cloudwatch.py neuron-monitor-k8s-info.py neuron-monitor-prometheus.py neuron_export.py neuronx-cc
