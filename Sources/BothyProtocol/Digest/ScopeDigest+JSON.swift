import BothyStore

extension ScopeDigest {
  /// Writes the members `container`, `children`?, `count`, `digest`, `position`?, `parts`? into the open object.
  package func writeMembers(to writer: inout JSONWriter) {
    scope.writeMembers(to: &writer)
    writer.member("count", count)
    writer.member("digest", digest)
    if let position { writer.member("position", position) }
    guard !parts.isEmpty else { return }
    writer.list("parts", parts) { writer, part in
      writer.member("count", part.count)
      writer.member("digest", part.digest)
    }
  }

  /// Reads the object with these members, and skips unknown ones. Throws `JSONError`.
  package init(from reader: inout JSONReader) throws {
    var found = ScopeDigest(scope: SyncScope(container: ""), count: 0, digest: "")
    try reader.object { name, reader in
      switch name {
      case "container": found.scope.container = try reader.string()
      case "children": found.scope.includesChildren = try reader.bool()
      case "count": found.count = Int(clamping: try reader.int())
      case "digest": found.digest = try reader.string()
      case "position": found.position = try reader.nextIsNull() ? nil : reader.int()
      case "parts": try reader.array { found.parts.append(try Part(from: &$0)) }
      default: try reader.skip()
      }
    }
    guard !found.digest.isEmpty else {
      throw JSONError(reason: "a digest needs 'digest'", offset: reader.offset)
    }
    self = found
  }
}

extension ScopeDigest.Part {
  fileprivate init(from reader: inout JSONReader) throws {
    var part = ScopeDigest.Part(count: 0, digest: "")
    try reader.object { name, reader in
      switch name {
      case "count": part.count = Int(clamping: try reader.int())
      case "digest": part.digest = try reader.string()
      default: try reader.skip()
      }
    }
    self = part
  }
}
