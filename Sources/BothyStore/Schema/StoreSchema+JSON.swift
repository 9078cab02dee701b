extension StoreSchema {
  /// Reads a schema document: `{"version", "types": [{"name", "fields": [{"name", "type", "optional", "default",
  /// "indexed", "unique", "fullText", "natural", "merge", "sensitive", "decimal", "to", "onDelete", "wire",
  /// "aliases"}], "indexes": [{"fields", "unique", "where"}], "synced", "writeMode", "permissions", "wire"}]}`.
  /// Unknown members are errors, so that a misspelt option isn't ignored.
  ///
  /// Throws `BothyError` with code `invalidSchema`. The message names the type, the field and the remedy.
  package init(json text: some ContiguousBytesSource) throws(BothyError) {
    // A byte order mark may come before the text.
    let text = text.withContiguousBytes { Array($0.afterByteOrderMark()) }
    let document: JSONValue
    do { document = try JSONValue(parsing: text) } catch {
      throw .invalidSchema("The schema is not JSON. \(error)")
    }
    let members = try Self.members(document, of: "The schema", allowed: ["version", "types"])
    guard let version = (members["version"] ?? 1).intValue, version >= 1 else {
      throw .invalidSchema("The schema's 'version' must be a whole number from 1.")
    }
    guard let list = members["types"]?.arrayValue else {
      throw .invalidSchema("The schema needs 'types', a list of objects.")
    }
    var types: [TypeSchema] = []
    for entry in list { types.append(try Self.type(entry)) }
    self.init(version: Int(version), types: types)
    try validate { type, action in SchemaLines.line(of: action, type: type, in: text) }
  }

  /// The document that `init(json:)` reads, canonical.
  ///
  /// A server is started with such a document. It has the local names beside those of the wire. Migrations and Swift
  /// types are not part of it.
  public var json: JSONValue {
    .object(["version": .int(Int64(version)), "types": .array(types.map(\.json))])
  }

  private static func members(
    _ value: JSONValue, of what: String, allowed: Set<String>
  ) throws(BothyError) -> [String: JSONValue] {
    guard let members = value.objectValue else { throw .invalidSchema("\(what) must be an object.") }
    if let unknown = members.keys.filter({ !allowed.contains($0) }).sorted().first {
      throw .invalidSchema(
        "\(what) has the unknown member '\(unknown)'. Known: \(allowed.sorted().joined(separator: ", ")).")
    }
    return members
  }

  private static func type(_ value: JSONValue) throws(BothyError) -> TypeSchema {
    let members = try members(
      value, of: "A type",
      allowed: ["name", "fields", "indexes", "synced", "writeMode", "mergesByField", "permissions", "wire"])
    guard let name = members["name"]?.stringValue else { throw .invalidSchema("A type needs a 'name'.") }
    guard let list = (members["fields"] ?? []).arrayValue else {
      throw .invalidSchema("The 'fields' of \(name) must be a list.")
    }
    var type = TypeSchema(name, fields: [])
    for entry in list { type.fields.append(try field(entry, of: name)) }
    guard let indexes = (members["indexes"] ?? []).arrayValue else {
      throw .invalidSchema("The 'indexes' of \(name) must be a list.")
    }
    for entry in indexes { type.indexes.append(try index(entry, of: name)) }
    type.isSynced = try flag(members["synced"], "synced", of: name) ?? true
    if let mode = members["writeMode"] {
      type.writeMode = try choice(mode, "writeMode", of: name)
    }
    type.mergesByField = try flag(members["mergesByField"], "mergesByField", of: name) ?? false
    if let permissions = members["permissions"] {
      type.permissions = try Permissions(json: permissions, of: name)
    }
    type.wire = try text(members["wire"], "wire", of: name)
    return type
  }

  private static func field(_ value: JSONValue, of type: String) throws(BothyError) -> FieldSchema {
    let members = try members(
      value, of: "A field of \(type)",
      allowed: [
        "name", "type", "optional", "default", "indexed", "unique", "fullText", "natural", "merge",
        "sensitive", "decimal", "to", "onDelete", "wire", "aliases",
      ])
    guard let name = members["name"]?.stringValue else {
      throw .invalidSchema("A field of \(type) needs a 'name'.")
    }
    let place = "\(type).\(name)"
    var field = FieldSchema(name, try kind(members, place))
    field.isOptional = try flag(members["optional"], "optional", of: place) ?? false
    field.isIndexed = try flag(members["indexed"], "indexed", of: place) ?? false
    field.isUnique = try flag(members["unique"], "unique", of: place) ?? false
    field.isFullText = try flag(members["fullText"], "fullText", of: place) ?? false
    field.isNatural = try flag(members["natural"], "natural", of: place) ?? false
    field.isSensitive = try flag(members["sensitive"], "sensitive", of: place) ?? false
    field.isDecimal = try flag(members["decimal"], "decimal", of: place) ?? false
    guard !field.isDecimal || field.kind == .text else {
      throw .invalidSchema("'decimal' of \(place) needs the type '\(ValueKind.text.name)'.")
    }
    field.wire = try text(members["wire"], "wire", of: place)
    field.aliases = try names(members["aliases"], "aliases", of: place)
    if let rule = members["merge"] { field.merge = try choice(rule, "merge", of: place) }
    if let value = members["default"], !value.isNull {
      do { field.defaultValue = try FieldValue(json: value, kind: field.kind) } catch {
        throw .invalidSchema("The default of \(place) does not fit. \(error)")
      }
    }
    return field
  }

  private static func index(_ value: JSONValue, of type: String) throws(BothyError) -> IndexSchema {
    let place = "An index of \(type)"
    let members = try members(value, of: place, allowed: ["fields", "unique", "where"])
    return IndexSchema(
      try names(members["fields"], "fields", of: place),
      unique: try flag(members["unique"], "unique", of: place) ?? false,
      where: try text(members["where"], "where", of: place))
  }

  private static func kind(_ members: [String: JSONValue], _ place: String) throws(BothyError) -> ValueKind {
    guard let name = members["type"]?.stringValue else { throw .invalidSchema("\(place) needs a 'type'.") }
    let plain: [ValueKind] = [
      .bool, .int, .double, .text, .date, .uuid, .data, .coordinate, .json, .blob,
    ]
    if let kind = plain.first(where: { $0.name == name }) { return kind }
    guard name == "reference" || name == "references" else {
      throw .invalidSchema(
        "\(place) has the unknown type '\(name)'. Known: "
          + (plain.map(\.name) + ["reference", "references"]).joined(separator: ", ") + ".")
    }
    guard let target = members["to"]?.stringValue else {
      throw .invalidSchema("\(place) is a reference and needs 'to', the name of a type.")
    }
    let rule: FieldKind.DeleteRule =
      try members["onDelete"].map { value throws(BothyError) in
        try choice(value, "onDelete", of: place)
      } ?? .nullify
    return name == "reference"
      ? .reference(to: target, onDelete: rule) : .references(to: target, onDelete: rule)
  }

  private static func text(_ value: JSONValue?, _ name: String, of place: String) throws(BothyError)
    -> String?
  {
    guard let value else { return nil }
    guard let text = value.stringValue else { throw .invalidSchema("'\(name)' of \(place) must be a text.") }
    return text
  }

  private static func names(
    _ value: JSONValue?, _ name: String, of place: String
  ) throws(BothyError) -> [String] {
    guard let value else { return [] }
    guard let list = value.arrayValue, case let names = list.compactMap(\.stringValue),
      names.count == list.count
    else { throw .invalidSchema("The '\(name)' of \(place) must be a list of names.") }
    return names
  }

  private static func flag(_ value: JSONValue?, _ name: String, of place: String) throws(BothyError) -> Bool?
  {
    guard let value else { return nil }
    guard let flag = value.boolValue else {
      throw .invalidSchema("'\(name)' of \(place) must be true or false.")
    }
    return flag
  }

  static func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ value: JSONValue, _ name: String, of place: String
  ) throws(BothyError) -> Choice {
    guard let text = value.stringValue, let choice = Choice(rawValue: text) else {
      let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw .invalidSchema("'\(name)' of \(place) must be one of: \(known).")
    }
    return choice
  }
}

extension TypeSchema {
  /// The type's part of the schema document, with options at their defaults left out.
  package var json: JSONValue {
    var members: [String: JSONValue] = ["name": .string(name), "fields": .array(fields.map(\.json))]
    if !indexes.isEmpty { members["indexes"] = .array(indexes.map(\.json)) }
    if !isSynced { members["synced"] = false }
    if writeMode != .offlineCapable { members["writeMode"] = .string(writeMode.rawValue) }
    if mergesByField { members["mergesByField"] = true }
    if let permissions { members["permissions"] = permissions.json }
    if let wire { members["wire"] = .string(wire) }
    return .object(members)
  }
}

extension IndexSchema {
  fileprivate var json: JSONValue {
    var members: [String: JSONValue] = ["fields": .array(fields.map { .string($0) })]
    if isUnique { members["unique"] = true }
    if let condition { members["where"] = .string(condition) }
    return .object(members)
  }
}

extension FieldSchema {
  fileprivate var json: JSONValue {
    var members: [String: JSONValue] = ["name": .string(name), "type": .string(kind.name)]
    if let target = kind.target {
      members["to"] = .string(target.type)
      members["onDelete"] = .string(target.onDelete.rawValue)
    }
    if isOptional { members["optional"] = true }
    if isIndexed { members["indexed"] = true }
    if isUnique { members["unique"] = true }
    if isFullText { members["fullText"] = true }
    if isNatural { members["natural"] = true }
    if isSensitive { members["sensitive"] = true }
    if isDecimal { members["decimal"] = true }
    if merge != .remote { members["merge"] = .string(merge.rawValue) }
    if let wire { members["wire"] = .string(wire) }
    if !aliases.isEmpty { members["aliases"] = .array(aliases.map { .string($0) }) }
    if let defaultValue {
      var writer = JSONWriter()
      defaultValue.write(to: &writer)
      members["default"] = try? JSONValue(parsing: writer.bytes)  // A value's own JSON always parses.
    }
    return .object(members)
  }
}
