import BothyStore

/// The manifest as a JSON document. Parsing validates all of its content.
extension Pack.Manifest {
  /// The bytes of `manifest.json`. Equal manifests have equal bytes.
  package var text: [UInt8] {
    var writer = JSONWriter()
    json.write(to: &writer)
    return writer.bytes + [UInt8(ascii: "\n")]
  }

  package var json: JSONValue {
    [
      "format": .int(Int64(Self.format)), "name": .string(name), "version": .string(version),
      "fingerprint": .string(fingerprint), "schema": schema.json,
      "types": .array(contents.map(\.json)), "files": .array(files.map(\.json)),
    ]
  }

  /// Parses the bytes of a manifest. Throws `BothyError` `corruptManifest`, `.newerFile` or `unsafeName`.
  package init(parsing bytes: some ContiguousBytesSource, of pack: String) throws(BothyError) {
    let document: JSONValue
    do { document = try JSONValue(parsing: bytes) } catch {
      throw Self.corrupt(pack, "it is not JSON")
    }
    guard let format = document["format"]?.intValue else { throw Self.corrupt(pack, "it has no 'format'") }
    guard format <= Self.format else {
      throw BothyError(
        .newerFile,
        "The pack \(pack) has format \(format); this version of Bothy knows up to \(Self.format). Update the app."
      )
    }
    guard let name = document["name"]?.stringValue, let version = document["version"]?.stringValue,
      let schemaJSON = document["schema"], let types = document["types"]?.arrayValue,
      let files = document["files"]?.arrayValue
    else { throw Self.corrupt(pack, "it lacks one of name, version, schema, types, files") }
    guard Self.isPrintable(name), Self.isPrintable(version) else {
      throw Self.corrupt(pack, "its name or version has characters that cannot be shown")
    }
    guard files.count <= Self.mostFiles else { throw Self.corrupt(pack, "it names too many files") }
    let schema: StoreSchema
    do { schema = try StoreSchema(json: schemaJSON.canonicalText) } catch {
      throw Self.corrupt(pack, error.message)
    }
    guard let contents = Self.contents(types, schema) else {
      throw Self.corrupt(pack, "its types are not those of its schema")
    }
    self.init(name: name, version: version, schema: schema, contents: contents, files: [])
    for json in files { self.files.append(try file(json, of: pack)) }
    try check(document, of: pack)
  }

  /// Checks that the parts are consistent.
  private func check(_ document: JSONValue, of pack: String) throws(BothyError) {
    guard document["fingerprint"]?.stringValue == fingerprint else {
      throw Self.corrupt(pack, "its fingerprint is not that of its schema")
    }
    guard let index = files.first, index.type == nil, !files.dropFirst().contains(where: { $0.type == nil })
    else { throw Self.corrupt(pack, "its first file and no other must be the index") }
    guard Set(files.map { $0.name.lowercased() }).count == files.count else {
      throw Self.corrupt(pack, "it names a file twice")
    }
    for content in contents where content.shardedBy != nil {
      let shards = files.filter { $0.type == content.type }
      guard Set(shards.map(\.key)).count == shards.count,
        shards.reduce(0, { $0.addingClamped($1.rows) }) == content.rows
      else { throw Self.corrupt(pack, "the shards of \(content.type) do not add up") }
    }
  }

  private static func contents(_ types: [JSONValue], _ schema: StoreSchema) -> [Contents]? {
    guard types.count == schema.types.count else { return nil }
    var contents: [Contents] = []
    for (json, type) in zip(types, schema.types) {
      let field = json["shardedBy"]?.stringValue
      guard json["name"]?.stringValue == type.name, let rows = json["rows"]?.intValue,
        (0...largest).contains(rows),
        field == nil || field.flatMap({ type[$0] })?.kind.canShard == true
      else { return nil }
      contents.append(Contents(type: type.name, rows: Int(rows), shardedBy: field))
    }
    return contents
  }

  private func file(_ json: JSONValue, of pack: String) throws(BothyError) -> File {
    guard let name = json["name"]?.stringValue, let rows = json["rows"]?.intValue,
      (0...Self.largest).contains(rows), let bytes = json["bytes"]?.intValue,
      (0...Self.largest).contains(bytes), let sha256 = json["sha256"]?.stringValue, Self.isChecksum(sha256)
    else {
      throw Self.corrupt(pack, "a file lacks one of name, rows, bytes, sha256, or has an impossible one")
    }
    guard Self.isSafe(name) else {
      throw BothyError(
        .unsafeName,
        "The pack \(pack) names the file '\(name.prefix(100))', which may lie elsewhere. It was not made by "
          + "`bothy pack build`; don't use it.")
    }
    var file = File(name: name, rows: Int(rows), bytes: bytes, sha256: sha256)
    guard let type = json["type"]?.stringValue else { return file }
    guard let content = contents.first(where: { $0.type == type }), let field = content.shardedBy,
      let kind = schema[type]?[field]?.kind,
      let key = json["key"].map({ try? FieldValue(json: $0, kind: kind) }),
      let key
    else { throw Self.corrupt(pack, "the file \(name) has rows that the schema knows nothing of") }
    file.type = type
    file.key = key
    return file
  }

  /// The largest accepted number of rows, bytes or files, 2^40, so that sums don't overflow.
  private static let largest: Int64 = 1 << 40
  private static let mostFiles = 1 << 20

  /// Returns true if a text can be printed safely: it doesn't control the terminal.
  static func isPrintable(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
      default: true
      }
    }
  }

  private static func isChecksum(_ text: String) -> Bool {
    text.utf8.count == 64
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  /// Returns true for letters, digits, `-`, `_` and dots, none of these first. Such a name is never a path.
  private static func isSafe(_ name: String) -> Bool {
    let allowed = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    return allowed && name.utf8.count <= 120 && name.hasSuffix(".sqlite")
      && name.utf8.first.map { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "-") } == true
  }

  private static func corrupt(_ pack: String, _ what: String) -> BothyError {
    BothyError(
      .corruptManifest,
      "The manifest of the pack \(pack) can't be used: \(what). Get or build the pack again.")
  }
}

extension Pack.Manifest.Contents {
  fileprivate var json: JSONValue {
    var members: [String: JSONValue] = ["name": .string(type), "rows": .int(Int64(rows))]
    if let shardedBy { members["shardedBy"] = .string(shardedBy) }
    return .object(members)
  }
}

extension Pack.Manifest.File {
  package var json: JSONValue {
    var members: [String: JSONValue] = [
      "name": .string(name), "rows": .int(Int64(rows)), "bytes": .int(bytes), "sha256": .string(sha256),
    ]
    if let type {
      members["type"] = .string(type)
      var writer = JSONWriter()
      key.write(to: &writer)
      members["key"] = (try? JSONValue(parsing: writer.bytes)) ?? .null  // a value's own JSON always parses
    }
    return .object(members)
  }
}

extension ValueKind {
  /// True if a type can be split by the values of such a field.
  var canShard: Bool {
    switch self {
    case .bool, .int, .text, .date, .uuid, .reference: true
    default: false
    }
  }
}
