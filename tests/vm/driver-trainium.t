#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance trn1.2xlarge
# copy: tests/vm/driver/driver-answers tests/vm/driver/driver-chips tests/vm/driver/driver-notify
# data: tests/vm/module.sh tests/vm/answers.sh tests/data/abi/answers.txt tests/data/abi/answers-trainium.txt tests/data/abi/answers-2.26.txt tests/data/abi/answers-2.29.txt
# The module on Trainium: tests/vm/module.sh
. ./module.sh

module_answers answers-trainium.txt 7164
module_works
module_goes
done_testing
