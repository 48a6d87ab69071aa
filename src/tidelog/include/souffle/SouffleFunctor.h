/* The names of Soufflé's interface for stateful functors, over Tidelog's tables.
 *
 * Sources that use these compile unchanged. A library that was compiled with Soufflé's own headers does not
 * work here: it expects Soufflé's objects. Two things differ: `decode` returns a text of its own instead of a
 * reference into the table, so do not keep its c_str() beyond it; and `unpack` is valid until the functor
 * returns.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>

#include "../tidelog.h"

#undef RAM_DOMAIN_SIZE
#define RAM_DOMAIN_SIZE 64

namespace souffle {

using RamDomain = std::int64_t;
using RamSigned = std::int64_t;
using RamUnsigned = std::uint64_t;
using RamFloat = double;

template <typename To = RamDomain, typename From>
To ramBitCast(From source) {
    static_assert(sizeof(To) == sizeof(From), "values of one width");
    To result;
    std::memcpy(&result, &source, sizeof(To));
    return result;
}

class SymbolTable : tidelog_symbols {
public:
    RamDomain encode(const std::string& text) const {
        return tidelog_symbols::encode(text.data(), text.size());
    }
    std::string decode(RamDomain code) const {
        std::size_t size = 0;
        const char* text = tidelog_symbols::decode(code, &size);
        return std::string(text, size);
    }
    RamDomain unsafeEncode(const std::string& text) const {
        return encode(text);
    }
    std::string unsafeDecode(RamDomain code) const {
        return decode(code);
    }
    /* The names of older versions. */
    RamDomain lookup(const std::string& text) const {
        return encode(text);
    }
    std::string resolve(RamDomain code) const {
        return decode(code);
    }
};

class RecordTable : tidelog_records {
public:
    RamDomain pack(const RamDomain* fields, std::size_t width) const {
        return tidelog_records::pack(fields, width);
    }
    RamDomain pack(std::initializer_list<RamDomain> fields) const {
        return pack(fields.begin(), fields.size());
    }
    const RamDomain* unpack(RamDomain code, std::size_t width) const {
        return tidelog_records::unpack(code, width);
    }
};

}  // namespace souffle
