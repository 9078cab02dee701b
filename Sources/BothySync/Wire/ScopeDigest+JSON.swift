public import BothyStore

extension ScopeDigest {
  /// Writes the members `container`, `children`?, `count`, `digest`, `position`? into the object that is open.
  public func writeMembers(to writer: inout JSONWriter) {
    scope.writeMembers(to: &writer)
    writer.key("count")
    writer.value(count)
    writer.key("digest")
    writer.value(digest)
    if let position {
      writer.key("position")
      writer.value(position)
    }
  }

  /// Reads the object that `writeMembers` fills; unknown members are skipped. Throws `JSONError`.
  public init(from reader: inout JSONReader) throws {
    var found = ScopeDigest(scope: PullScope(container: ""), count: 0, digest: "")
    try reader.object { name, reader in
      switch name {
      case "container": found.scope.container = try reader.string()
      case "children": found.scope.includesChildren = try reader.bool()
      case "count": found.count = Int(clamping: try reader.int())
      case "digest": found.digest = try reader.string()
      case "position": found.position = try reader.nextIsNull() ? nil : reader.int()
      default: try reader.skip()
      }
    }
    guard !found.digest.isEmpty else {
      throw JSONError(reason: "a digest needs 'digest'", offset: reader.offset)
    }
    self = found
  }
}
