#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf2.xlarge
# copy: tests/vm/driver/driver-answers tests/vm/driver/driver-chips tests/vm/driver/driver-notify
# data: tests/vm/module.sh tests/vm/answers.sh tests/data/abi/answers.txt tests/data/abi/answers-inferentia2.txt tests/data/abi/answers-2.26.txt tests/data/abi/answers-2.29.txt
# The module on Inferentia2: tests/vm/module.sh
. ./module.sh

module_answers answers-inferentia2.txt 7264
module_works
module_goes
done_testing
