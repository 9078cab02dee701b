/// A search of the fields of a type, by whose relevance records are sorted.
///
/// The relevance is a whole number that depends on the record alone, so devices, servers and the evaluator compute one
/// number, and a page of one follows that of another. The rank of SQLite's FTS5 also depends on the other records that
/// are stored.
package struct FieldSearch: Sendable, Hashable {
  package let search: TextSearch
  /// The names in the condition; none for all full-text fields.
  let asked: [String]
  /// The names of the fields that are searched.
  let fields: [String]

  init(_ text: String, in names: [String], of type: TypeSchema) {
    search = TextSearch(text)
    asked = names
    fields = type.searched(names).map(\.name)
  }

  fileprivate func rank(of record: AnyRecord) -> Int {
    search.rank(of: fields.compactMap { record[$0].text })
  }

  /// Returns a condition that is true of the records whose relevance is at least this.
  func reaches(_ rank: Int) -> ConditionTree {
    rank > 0 ? .matches(search.text, in: asked, atLeast: rank) : .all
  }
}

extension ConditionTree {
  /// Returns the first search that every record of the condition meets, or nil.
  package func search(in type: TypeSchema) -> FieldSearch? {
    switch self {
    case .matches(let text, let fields, _): FieldSearch(text, in: fields, of: type)
    case .and(let parts): parts.lazy.compactMap { $0.search(in: type) }.first
    default: nil
    }
  }
}

extension TextSearch {
  /// Returns the relevance of texts: greater if they have the words more often, as whole words, and among fewer others.
  ///
  /// A word of the search counts in each text. Found as a whole it has the weight 2, as the start or a part of a word
  /// 1. The sum of its weights *w* in a text of *n* words counts 1000 *w* / (*w* + 2 + *n* / 10), rounded down at each
  /// division. So a word in a title counts more than some in a long text. Reads all words of the texts.
  func rank(of texts: [String]) -> Int {
    texts.reduce(0) { sum, text in
      let words = Self.words(of: text)
      // A character of a script without spaces counts as a word.
      let count = words.reduce(0) { $0 + ($1.isSpaceless ? $1.unicodeScalars.count : 1) }
      return terms.reduce(sum) { sum, term in
        let weight = words.reduce(0) { $0 + term.weight(in: $1) }
        return weight == 0 ? sum : sum + 1000 * weight / (weight + 2 + count / 10)
      }
    }
  }
}

extension TextSearch.Term {
  fileprivate func weight(in other: String) -> Int {
    guard finds(other) else { return 0 }
    if isPart && other.utf8.count > word.utf8.count { return other.utf8.occurrences(of: word.utf8).count }
    return other.utf8.count == word.utf8.count ? 2 : 1
  }
}

extension AnyRecord {
  /// Returns the relevance of the record for the search of a sort key. It is read from the record if noted there.
  func rank(by key: SortKey) -> Int {
    // A cursor comes from outside. No search has as many words as would reach this.
    if case .int(let noted)? = fields[SortKey.rank] { return Int(min(max(noted, 0), 1 << 40)) }
    return key.search?.rank(of: self) ?? 0
  }

  /// Returns the value of a key that a cursor has: the relevance, or the value of the field.
  package func cursorValue(_ key: SortKey, _ type: TypeSchema) -> FieldValue {
    key.isRank ? .int(Int64(rank(by: key))) : queried(key.field, type)
  }
}
