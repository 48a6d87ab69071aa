// Stateful functors as they are written for Soufflé.
#include "souffle/RecordTable.h"
#include "souffle/SouffleFunctor.h"
#include "souffle/SymbolTable.h"

#include <string>

extern "C" {

souffle::RamDomain reversed(
        souffle::SymbolTable* symbolTable, souffle::RecordTable*, souffle::RamDomain text) {
    const std::string& word = symbolTable->decode(text);
    return symbolTable->encode(std::string(word.rbegin(), word.rend()));
}

// .type Shape = Circle { r: number } | Box { w: number, h: number } | Dot {}
souffle::RamDomain grown(souffle::SymbolTable*, souffle::RecordTable* recordTable, souffle::RamDomain shape) {
    enum { Box, Circle, Dot };
    const souffle::RamDomain* parts = recordTable->unpack(shape, 2);
    if (parts[0] == Circle) return recordTable->pack({Circle, parts[1] + 1});
    if (parts[0] == Dot) return shape;
    const souffle::RamDomain* sides = recordTable->unpack(parts[1], 2);
    const souffle::RamDomain larger[2] = {sides[0] + 1, sides[1] + 1};
    return recordTable->pack({Box, recordTable->pack(larger, 2)});
}

// .type Sign = Top {} | Bottom {} | Zero {} | Negative {} | Positive {}
souffle::RamDomain least_upper_bound(
        souffle::SymbolTable*, souffle::RecordTable*, souffle::RamDomain left, souffle::RamDomain right) {
    enum { Bottom, Negative, Positive, Top, Zero };
    if (left == Bottom || left == right) return right;
    return right == Bottom ? left : static_cast<souffle::RamDomain>(Top);
}

// .type Forest = [shape: Shape, others: Forest]
souffle::RamDomain first_shape(
        souffle::SymbolTable*, souffle::RecordTable* recordTable, souffle::RamDomain forest) {
    return recordTable->unpack(forest, 2)[0];
}

int not_for_c(int x) {
    return x;
}
}

long mangled(long x) {
    return x;
}
