/// The identity of a record: the name of its type and its id within the type. Ids are any text, compared byte by byte.
///
/// ```swift
/// let corrour = RecordID(type: "Hut", id: "corrour")
/// for entry in try store.journal.entries(of: corrour) { show("\(entry.date): \(entry.record)") }
/// try await store.write { try $0.move(RecordID(trip), to: "trips/rome") }
/// ```
public struct RecordID: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The name of the type in the schema.
  ///
  /// It is that of the struct, unless `@Entity` gives another name.
  public var type: String
  /// The id within the type.
  ///
  /// By default a lower-case UUID of version 7. See `UUIDv7`.
  public var id: String

  /// Creates the name of a record, which need not exist.
  ///
  /// Reads nothing and checks nothing. A call that uses it throws `BothyError` `unknownType` if the schema lacks the
  /// type.
  public init(type: String, id: String) {
    self.type = type
    self.id = id
  }

  /// The type and the id with a slash between them, as messages and logs show a record: `Hut/corrour`.
  ///
  /// An id may have slashes itself, so the text can't be split again.
  public var description: String { "\(type)/\(id)" }

  /// Compares byte by byte, like SQLite. Swift's own `==` treats canonically equivalent texts as equal.
  ///
  /// Case and Unicode spelling count. `É` as one character and as two are two ids.
  public static func == (left: RecordID, right: RecordID) -> Bool {
    left.id.hasSameBytes(as: right.id) && left.type.hasSameBytes(as: right.type)
  }

  /// Hashes the id alone, because few records of different types share one.
  public func hash(into hasher: inout Hasher) {
    let hashed: Void? = id.utf8.withContiguousStorageIfAvailable { bytes in
      hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
    }
    if hashed == nil { Array(id.utf8).withUnsafeBytes { hasher.combine(bytes: $0) } }
  }
}

extension String {
  /// Compares byte by byte, like SQLite.
  package func hasSameBytes(as other: String) -> Bool {
    let isSame = utf8.withContiguousStorageIfAvailable { mine in
      other.utf8.withContiguousStorageIfAvailable { theirs in
        mine.count == theirs.count && (mine.isEmpty || mine.elementsEqual(theirs))
      }
    }
    return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
  }
}
