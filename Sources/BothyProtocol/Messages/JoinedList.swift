import BothyStore

/// A list that names a user, as the user learns of it: without the list's name and its other members.
package struct JoinedList: Sendable, Hashable {
  /// The id of the list.
  package var id: String
  /// The user who made it. It is missing if that user had no name.
  package var owner: String?

  package init(id: String, owner: String?) {
    self.id = id
    self.owner = owner
  }

  /// Writes `{"id","owner"?}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    if let owner { writer.member("owner", owner) }
    writer.endObject()
  }

  /// Reads the lists of an answer, `{"lists":[…]}`. Throws `JSONError` without them.
  package static func lists(decoding bytes: [UInt8]) throws -> [JoinedList] {
    guard let lists = try JSONValue(parsing: bytes)["lists"]?.arrayValue else {
      throw JSONError(reason: "the answer needs 'lists'", offset: 0)
    }
    return try lists.map { list in
      guard let id = list["id"]?.stringValue else {
        throw JSONError(reason: "a list needs an 'id'", offset: 0)
      }
      return JoinedList(id: id, owner: list["owner"]?.stringValue)
    }
  }
}
