/// Permissions in a schema document: `{"create", "read", "update", "delete", "share"}`. Each value is an access, or a
/// condition as text. That of `update` may be `{"was", "becomes"}`.
extension Permissions {
  /// The greatest number of bytes of a condition.
  static let longestCondition = 4000

  init(json: JSONValue, of type: String) throws(BothyError) {
    self.init()
    guard let members = json.objectValue else {
      throw .invalidSchema("The 'permissions' of \(type) must be an object.")
    }
    for (name, value) in members {
      guard let action = Action(rawValue: name), action != .become else {
        throw .invalidSchema(
          "\(type) has permissions for '\(name)'. Known: create, read, update, delete, share.")
      }
      if action == .update, let parts = value.objectValue {
        try set(parts, of: type)
      } else {
        try set(action, value, of: type)
      }
    }
  }

  private mutating func set(_ parts: [String: JSONValue], of type: String) throws(BothyError) {
    guard let was = parts["was"], let becomes = parts["becomes"]?.stringValue, parts.count == 2 else {
      throw .invalidSchema(
        "'update' of the permissions of \(type) is text, or has 'was' and 'becomes': the conditions before and after "
          + "a change.")
    }
    try set(.update, was, of: type)
    self[.become] = becomes
  }

  private mutating func set(_ action: Action, _ value: JSONValue, of type: String) throws(BothyError) {
    let text = value.stringValue ?? ""
    if text.contains(where: { !$0.isLetter }) {
      self[action] = text
      return
    }
    let known = Access.allCases.map(\.rawValue).joined(separator: ", ")
    guard let access = Access(rawValue: text) else {
      throw .invalidSchema(
        "'\(action.rawValue)' of the permissions of \(type) must be one of: \(known). Or it is a condition, such as "
          + "\"_owner = principal.name\".")
    }
    switch action {
    case .create: create = access
    case .read: read = access
    case .update: update = access
    case .delete: delete = access
    case .share: share = access
    case .become: break
    }
  }

  var json: JSONValue {
    func value(_ action: Action, _ access: Access) -> JSONValue { .string(self[action] ?? access.rawValue) }
    var members: [String: JSONValue] = [
      "create": value(.create, create), "read": value(.read, read), "update": value(.update, update),
      "delete": value(.delete, delete), "share": value(.share, share),
    ]
    if let becomes = self[.become] {
      members["update"] = ["was": value(.update, update), "becomes": .string(becomes)]
    }
    return .object(members)
  }
}

/// The lines of a schema document, for messages.
enum SchemaLines {
  /// Returns the line of the permission for an action, counted from 1, or `nil` if the document lacks it.
  ///
  /// - Parameter type: the number of the type in the document, from 0.
  static func line(
    of action: Permissions.Action, type: Int, in text: some ContiguousBytesSource
  ) -> Int? {
    let name = action == .become ? Permissions.Action.update.rawValue : action.rawValue
    var found: Int?
    // The document was read before, so an error can't be thrown.
    try? JSONReader.read(text) { reader in
      try member("types", &reader) { reader in
        var number = 0
        try reader.array { reader in
          number += 1
          guard number == type + 1 else { return try reader.skip() }
          try member("permissions", &reader) { reader in
            try member(name, &reader) { reader in
              _ = try reader.peek()
              found = reader.offset
              try reader.skip()
            }
          }
        }
      }
    }
    guard let found else { return nil }
    return text.withContiguousBytes { $0.prefix(found).count { $0 == UInt8(ascii: "\n") } } + 1
  }

  private static func member(
    _ name: String, _ reader: inout JSONReader, _ body: (inout JSONReader) throws -> Void
  ) throws {
    try reader.object { found, reader in
      if found == name { try body(&reader) } else { try reader.skip() }
    }
  }
}
