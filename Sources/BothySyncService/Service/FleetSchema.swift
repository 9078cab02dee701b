public import BothyStore

extension StoreSchema {
  /// Returns one schema, with wire names, for a server whose devices have different versions of the app.
  ///
  /// A renamed field is one field by its wire name and aliases. A field or type that the newest schema lacks is
  /// accepted from older devices, and kept. A new field that must have a value needs a default, which the server sets
  /// in records that older devices insert or change.
  ///
  /// ```swift
  /// rules.schema = try StoreSchema.fleet(StoreSchema(json: new), besides: [StoreSchema(json: old)])
  /// ```
  ///
  /// Throws `BothyError` `.schemaMismatch` with a sentence and a remedy for each difference that older devices can't
  /// handle.
  ///
  /// - Parameters:
  ///   - newest: the schema of the newest app.
  ///   - older: the schemas of the older apps that are still in use.
  ///   - removed: fields of `older` that were removed deliberately, as `type.field`. Needed if a new field may be a
  ///     renamed one.
  public static func fleet(
    _ newest: StoreSchema, besides older: [StoreSchema], removed: Set<String> = []
  ) throws(BothyError) -> StoreSchema {
    var fleet = FleetSchema(newest: newest.asOnTheWire, removed: removed)
    for schema in older.sorted(by: { $0.version > $1.version }) { fleet.join(schema.asOnTheWire) }
    fleet.problems += fleet.schema.permissionProblems().map { $0.text() }
    guard fleet.problems.isEmpty else {
      throw BothyError(
        .schemaMismatch,
        "Schema \(newest.version) can't be served beside older ones. " + fleet.problems.joined(separator: " ")
      )
    }
    return fleet.schema
  }
}

/// The union of schemas by wire names, with the problems found.
private struct FleetSchema {
  var schema: StoreSchema
  var problems: [String] = []
  private let newest: StoreSchema
  private let removed: Set<String>

  init(newest: StoreSchema, removed: Set<String>) {
    self.newest = newest
    self.removed = removed
    schema = newest
  }

  mutating func join(_ old: StoreSchema) {
    for type in old.types where type.isSynced {
      guard let index = schema.types.firstIndex(where: { $0.name == type.name }) else {
        schema.types.append(type)
        continue
      }
      for field in type.fields { join(field, of: type.name, index, old.version) }
      guard let new = newest[type.name] else { continue }
      for field in new.fields
      where !field.isOptional && field.defaultValue == nil && type.field(like: field) == nil {
        problems.append(
          "\(type.name).\(field.name) is new since schema \(old.version), whose devices do not send it: make it optional, "
            + "or give it a default.")
      }
      lookForRenames(from: type, to: new, old.version)
    }
  }

  private mutating func join(_ field: FieldSchema, of type: String, _ index: Int, _ version: Int) {
    let fields = schema.types[index].fields
    guard
      let position = fields.firstIndex(where: { $0.name == field.name || $0.aliases.contains(field.name) })
    else {
      // Newer devices neither send nor read the field.
      var kept = field
      kept.isOptional = true
      kept.isUnique = false
      kept.defaultValue = nil
      schema.types[index].fields.append(kept)
      return
    }
    let new = fields[position]
    if new.name != field.name && !field.aliases.contains(new.name) {
      problems.append(
        "\(type).\(new.name) has '\(field.name)' as an alias, and devices of schema \(version) read and write it under that "
          + "name alone: say `\"wire\": \"\(field.name)\"` of \(new.name).")
    }
    if !new.hasKind(of: field) {
      problems.append(
        "\(type).\(new.name) is \(new.phrase) and was \(field.phrase) in schema \(version), whose devices can't "
          + "read the new values: declare a new field with a wire name of its own.")
    }
    if field.isOptional && !new.isOptional && new.defaultValue == nil {
      problems.append(
        "\(type).\(new.name) must have a value since schema \(version), whose devices may leave it out: give it a default."
      )
    }
  }

  /// Reports a removed field and a new one of its kind, which may be one renamed field.
  private mutating func lookForRenames(from old: TypeSchema, to new: TypeSchema, _ version: Int) {
    let gone = old.fields.filter { new.field(like: $0) == nil && !removed.contains("\(old.name).\($0.name)") }
    for field in gone {
      let twin = new.fields.first { $0.kind == field.kind && old.field(like: $0) == nil }
      guard let twin else { continue }
      problems.append(
        "\(old.name).\(field.name) of schema \(version) is gone and \(new.name).\(twin.name) is new. "
          + "If they are one field, say `\"wire\": \"\(field.name)\"` of \(twin.name). "
          + "If not, name \(old.name).\(field.name) as removed."
      )
    }
  }
}

extension TypeSchema {
  /// Returns the field with the wire name of `other`, by name or alias of either.
  fileprivate func field(like other: FieldSchema) -> FieldSchema? {
    let names = Set([other.name] + other.aliases)
    return fields.first { names.contains($0.name) || !names.isDisjoint(with: $0.aliases) }
  }
}

extension AccessRules {
  /// Returns the operation with wire names in place of aliases, and each value in the form in which devices write it.
  /// Otherwise queries miss it and digests differ.
  func canonical(_ operation: SyncOperation) -> SyncOperation {
    var operation = operation
    if let names = aliases[operation.record.type] {
      operation.fields = Self.canonical(operation.fields, names)
    }
    guard let declared = schema?[operation.record.type] else { return operation }
    for field in declared.fields where field.kind.hasManyForms || field.isDecimal {
      guard let value = operation.fields[field.name], !field.kind.isWritten(as: value),
        // The rules reject a value that does not fit.
        let read = try? field.value(written: value)
      else { continue }
      operation.fields[field.name] = read.json
    }
    return operation
  }

  /// Returns the fields of a record of a type with wire names in place of aliases.
  func canonical(_ fields: [String: JSONValue], of type: String) -> [String: JSONValue] {
    aliases[type].map { Self.canonical(fields, $0) } ?? fields
  }

  private static func canonical(
    _ fields: [String: JSONValue], _ names: [String: String]
  ) -> [String: JSONValue] {
    var fields = fields
    for (alias, name) in names {
      guard let value = fields.removeValue(forKey: alias), !value.isNull, (fields[name] ?? .null).isNull
      else {
        continue
      }
      fields[name] = value
    }
    return fields
  }

  /// Returns the wire names by aliases of a schema, by type. Most schemas have none.
  static func aliases(of schema: StoreSchema?) -> [String: [String: String]] {
    var found: [String: [String: String]] = [:]
    for type in schema?.types ?? [] {
      for field in type.fields {
        for alias in field.aliases { found[type.name, default: [:]][alias] = field.name }
      }
    }
    return found
  }
}

extension ValueKind {
  /// True for a kind whose values have more than one JSON form.
  fileprivate var hasManyForms: Bool {
    switch self {
    case .uuid, .date, .double, .int, .coordinate, .data: true
    default: false
    }
  }

  /// Returns true for null, and for the number that devices write for the kind.
  fileprivate func isWritten(as value: JSONValue) -> Bool {
    if case .int = value { return self == .int || self == .date }
    return value.isNull
  }
}
