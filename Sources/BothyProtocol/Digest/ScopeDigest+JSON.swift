import BothyStore

extension ScopeDigest {
  /// Writes the members `container`, `children`?, `count`, `digest`, `position`?, `parts`? into the open object.
  package func writeMembers(to writer: inout JSONWriter) {
    scope.writeMembers(to: &writer)
    writer.key("count")
    writer.value(count)
    writer.key("digest")
    writer.value(digest)
    if let position {
      writer.key("position")
      writer.value(position)
    }
    guard !parts.isEmpty else { return }
    writer.key("parts")
    writer.beginArray()
    for part in parts {
      writer.beginObject()
      writer.key("count")
      writer.value(part.count)
      writer.key("digest")
      writer.value(part.digest)
      writer.endObject()
    }
    writer.endArray()
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
