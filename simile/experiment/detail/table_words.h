// SPDX-License-Identifier: Apache-2.0
// The words of a reproduced table, which its forms (text, Markdown, drawing) share.
#pragma once

#include <string>
#include <vector>

#include "simile/experiment/reproduction.h"

namespace simile {

std::string paper_figure(const TableColumn& column, const std::optional<double>& figure);
// "0.512 ± 0.010 (3) [0.490, 0.535]", or why there is none.
std::string our_figure(const TableColumn& column, const TableCell& cell);
std::string table_head(const Reproduction& result);    // of what it is made, in one line
std::string figure_words(const Reproduction& result);  // what stands in our_figure()
// What a shell makes it with: "simile reproduce bsc-table3 --data DIR --settings small --runs 5".
std::string table_command(const Reproduction& result);
std::string order_line(const Reproduction& result, const JudgedOrder& order);
// "+0.200, p = 0.003 (5 seeds), 95 % interval over examples +0.100 to +0.300; paper +0.311"
std::string claim_figures(const Reproduction& result, const JudgedClaim& judged);
// Each row's problem with the columns it is of, notes of rows and of the table.
std::vector<std::string> table_remarks(const Reproduction& result);

}  // namespace simile
