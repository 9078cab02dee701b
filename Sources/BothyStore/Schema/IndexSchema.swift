/// An index of a type beyond those of single fields: of several fields, of some of the records, or both.
package struct IndexSchema: Sendable, Hashable {
  /// The fields in the order of the index. A search by the first ones uses it too.
  package var fields: [String]
  /// True if no two records may have the same values in all fields. A record without a value in one of them doesn't
  /// count.
  package var isUnique: Bool
  /// The condition of the records that the index has, as text; nil for all records.
  package var condition: String?

  package init(_ fields: [String], unique: Bool = false, where condition: String? = nil) {
    self.fields = fields
    isUnique = unique
    self.condition = condition
  }

  /// The fields and the condition as text.
  package var description: String {
    fields.joined(separator: ", ") + (condition.map { " WHERE \($0)" } ?? "")
  }

  /// Returns the name in the file. The parenthesis separates it from the names of other indexes.
  func name(of type: String) -> String { "bothy_index(\(type): \(description))" }
}

extension TypeSchema {
  /// Returns the type with one more index: of several fields, or of the records that meet a condition.
  ///
  /// ```swift
  /// let hut = TypeSchema("Hut", fields: [.field("name", String.self), .field("beds", Int.self, default: 4)])
  ///   .indexed(by: "name", "beds", unique: true)
  ///   .indexed(by: "beds", where: "beds > 20")
  /// ```
  ///
  /// Opening a store throws `BothyError` `invalidSchema` for a field without an order, and for a condition that no index
  /// can have: such a condition compares fields of the record with values, joined by AND, OR and NOT.
  ///
  /// - Parameters:
  ///   - fields: The names of the fields, the one that is searched by most first. At most 8.
  ///   - unique: True if no two records may have the same values in all fields. A server with the schema checks it too.
  ///     Such an index has no condition.
  ///   - condition: The condition as text, such as `done = false`. A query uses the index if it has the same one.
  public func indexed(
    by fields: String..., unique: Bool = false, where condition: String? = nil
  ) -> TypeSchema {
    var type = self
    type.indexes.append(IndexSchema(fields, unique: unique, where: condition))
    return type
  }

  /// The fields whose values no two records may share: each unique field, and the fields of each unique index.
  package var uniqueKeys: [[FieldSchema]] {
    fields.filter(\.isUnique).map { [$0] }
      + indexes.filter(\.isUnique).map { index in index.fields.compactMap { self[$0] } }
  }

  /// Removes the indexes that name a field, before a step changes the field. The comparison with the declared schema
  /// adds them again.
  mutating func dropIndexes(naming field: String) {
    indexes.removeAll { index in
      // A condition that can't be read names any field.
      let names = index.condition.flatMap { try? WhereParser.parse($0) }?.fieldNames
      return index.fields.contains(field) || index.condition != nil && names?.contains(field) != false
    }
  }

  /// Throws `BothyError` `invalidSchema` for an index that SQLite or a server can't have.
  func validateIndexes() throws(BothyError) {
    var known: Set<String> = []
    for index in indexes {
      let place = "The index of \(name) by '\(index.description)'"
      // SQLite's names differ by more than case.
      guard known.insert(index.name(of: name).lowercased()).inserted else {
        throw .invalidSchema("\(place) is declared twice. Remove one; a unique index serves searches too.")
      }
      guard (1...Self.mostIndexFields).contains(index.fields.count),
        Set(index.fields.map { $0.lowercased() }).count == index.fields.count
      else {
        throw .invalidSchema("\(place) must have 1 to \(Self.mostIndexFields) fields, each once.")
      }
      for field in index.fields {
        guard let found = self[field], found.kind.isOrdered, !found.isSensitive else {
          let known = fields.filter { $0.kind.isOrdered && !$0.isSensitive }.map(\.name)
          throw .invalidSchema("\(place) can't have '\(field)'. Possible: \(known.joined(separator: ", ")).")
        }
      }
      if index.isUnique && index.condition != nil {
        throw .invalidSchema("\(place) can't be unique and have a condition. Leave one of them out.")
      }
      _ = try indexCondition(of: index)
    }
  }

  private static let mostIndexFields = 8

  /// Returns ` WHERE …` for the statement that creates an index, or nothing. Throws `BothyError` `invalidSchema`.
  func indexCondition(of index: IndexSchema) throws(BothyError) -> String {
    guard let text = index.condition else { return "" }
    let place = "The condition of an index of \(name)"
    let tree: ConditionTree
    do { tree = try WhereParser.parse(text) } catch {
      throw .invalidSchema("\(place) can't be read. \(error)")
    }
    let checked: ConditionTree
    do { checked = try tree.checked(for: self) } catch {
      throw .invalidSchema("\(place) doesn't fit. \(error.message)")
    }
    guard text.utf8.count <= Permissions.longestCondition, let sql = checked.indexSQL(for: self) else {
      throw .invalidSchema(
        "\(place), '\(text.prefix(80))', has a part that no index can have. Possible: comparisons of fields with values, "
          + "IN, IS NULL, joined by AND, OR and NOT.")
    }
    return " WHERE " + sql
  }
}

extension ConditionTree {
  /// Returns the condition in the words of `ConditionCompiler`, with values as text, because an index has no arguments.
  /// SQLite uses the index for queries with equal parts. Nil for a condition that an index can't have.
  fileprivate func indexSQL(for type: TypeSchema, negated: Bool = false) -> String? {
    switch self {
    case .and(let parts): return Self.joined(parts, negated ? " OR " : " AND ", type, negated)
    case .or(let parts): return Self.joined(parts, negated ? " AND " : " OR ", type, negated)
    case .not(let part): return part.indexSQL(for: type, negated: !negated)
    case .compare(let field, .equal, let value):
      return Self.equality(field, value, for: type, negated: negated)
    case .compare(let field, .notEqual, let value):
      return Self.equality(field, value, for: type, negated: !negated)
    case .compare(let field, let comparison, let value):
      guard let column = type.indexColumn(field), let value = value.literal else { return nil }
      let test = "\(column) \(comparison.rawValue) \(value)"
      return negated ? "(\(test)) IS NOT TRUE" : test
    case .oneOf(let field, let values):
      // SQLite doesn't compare lists of arguments, and finds an equality among alternatives.
      guard values.count <= Self.mostAlternatives else { return nil }
      let parts = values.map { ConditionTree.compare(field: field, .equal, $0) }
      return Self.joined(parts, negated ? " AND " : " OR ", type, negated)
    case .all, .none, .compareFields, .compareNaturally, .contains, .beginsWith, .includes, .near, .inside,
      .matches, .relates, .exists:
      return nil
    }
  }

  private static var mostAlternatives: Int { 100 }

  private static func joined(
    _ parts: [ConditionTree], _ word: String, _ type: TypeSchema, _ negated: Bool
  ) -> String? {
    let found = parts.compactMap { $0.indexSQL(for: type, negated: negated) }
    return found.isEmpty || found.count < parts.count ? nil : "(\(found.joined(separator: word)))"
  }

  /// Returns an equality. Both forms of one truth value, `= false` and `!= true`, select the index.
  private static func equality(
    _ field: String, _ value: FieldValue, for type: TypeSchema, negated: Bool
  ) -> String? {
    guard let column = type.indexColumn(field) else { return nil }
    if value.isNull { return column + (negated ? " IS NOT NULL" : " IS NULL") }
    if case .bool(let flag) = value {
      let wanted = flag != negated
      return "(\(column) IS NOT \(wanted ? 0 : 1) OR \(column) = \(wanted ? 1 : 0))"
    }
    return value.literal.map { column + (negated ? " IS NOT " : " = ") + $0 }
  }

  /// The names of all fields in the condition.
  fileprivate var fieldNames: Set<String> {
    var names: Set<String> = []
    _ = renamingFields { name in
      names.insert(name)
      return name
    }
    return names
  }
}

extension TypeSchema {
  /// The column of a field of its own that can be in the condition of an index.
  fileprivate func indexColumn(_ name: String) -> String? {
    self[name].flatMap { $0.kind.isOrdered && !$0.isSensitive ? name.quotedIdentifier : nil }
  }
}

extension FieldValue {
  /// The value in SQL, or nil for one that isn't written so.
  fileprivate var literal: String? {
    switch self {
    case .bool(let flag): flag ? "1" : "0"
    case .int(let number), .date(let number): String(number)
    case .double(let number): number.isFinite ? number.description : nil
    case .text(let text):
      text.utf8.contains(0) ? nil : text.quoted(by: "'")
    default: nil
    }
  }
}
