/// One declared type of record: its name, its fields, and a flag for sync.
///
/// ```swift
/// let hut = TypeSchema("Hut", fields: [.field("name", String.self), .field("beds", Int.self, default: 4)])
/// let schema = StoreSchema(types: [Todo.schema, hut])
/// ```
public struct TypeSchema: Sendable, Hashable {
  /// The name: a letter, then letters, digits or `_`, at most 64 bytes. Not `rowid`, and not beginning with `bothy` or
  /// `sqlite_`. Names differ by more than case.
  package var name: String
  /// The fields in the order in which `Entity.encode` and `init` visit them.
  package var fields: [FieldSchema]
  /// True if records of the type are synced with the server, false if they stay on this device.
  package var isSynced: Bool
  /// The use of the network by writes. Matters to synced types.
  package var writeMode: WriteMode
  /// True if conflicts are merged field by field, whatever the store's merge policy.
  package var mergesByField = false
  /// The rights of users on the server. If nil, every authenticated user may do everything.
  package var permissions: Permissions?
  /// The type's declared name on the wire and on the server, or nil for the name it was first declared by.
  package var wire: String?
  /// The indexes beyond those of single fields, in the order of their declaration.
  package var indexes: [IndexSchema] = []

  /// The use of the network by a write. Reads don't depend on it: both kinds of records are read from the local file.
  package enum WriteMode: String, Sendable, Hashable, CaseIterable {
    /// Written locally first or at once on the server, by the write policy. A change without a network waits in the
    /// outbox. The default.
    case offlineCapable
    /// Written on the server only. Without a network the write fails and isn't queued.
    ///
    /// Costs a round trip a save. A write in a transaction of a `SyncedStore` throws `BothyError` `.requiresNetwork`;
    /// use its `save` and `delete`.
    case remoteOnly
  }

  /// Creates a type, by default synced, written locally first and without permissions. A store checks it when it is
  /// opened.
  ///
  /// - Parameters:
  ///   - fields: The fields in the order in which an entity reads and writes them.
  ///   - synced: False for records that stay on this device.
  ///   - remoteOnly: True for records of a synced type that are written on the server only. Without a network the write
  ///     fails and isn't queued. It costs a round trip a save, and in a transaction of a `SyncedStore` it throws
  ///     `BothyError` `.requiresNetwork`; use the store's `save` and `delete`.
  ///   - permissions: The rights of users on a server with the schema. Nil allows every user everything.
  ///   - wire: The name on the server, if it differs.
  public init(
    _ name: String, fields: [FieldSchema], synced: Bool = true, remoteOnly: Bool = false,
    permissions: Permissions? = nil, wire: String? = nil
  ) {
    self.name = name
    self.fields = fields
    isSynced = synced
    writeMode = remoteOnly ? .remoteOnly : .offlineCapable
    self.permissions = permissions
    self.wire = wire
  }

  /// The type's name on the wire, and that of its records' own container.
  package var wireName: String { wire ?? name }

  /// Returns the position of the field called `name` in `fields`. Linear in the number of fields.
  package func index(of name: String) -> Int? { fields.firstIndex { $0.name == name } }

  /// The field called `name`, or nil. Linear in the number of fields.
  package subscript(_ name: String) -> FieldSchema? { fields.first { $0.name == name } }

  /// True if any field is part of the full-text index.
  package var hasFullText: Bool { fields.contains(where: \.isFullText) }
}

/// The rights of users to the records of a type, on the server.
///
/// They hold on a server that was started with the schema. The device checks none: it saves a forbidden change, and the
/// server rejects it with the code `forbidden`.
///
/// ```swift
/// @Entity(permissions: Permissions(read: .shared, update: .shared, delete: .owner))
/// struct Diary {
///   var text: String
/// }
/// ```
public struct Permissions: Sendable, Hashable {
  /// The users that have a right. The server decides by the user that the request was authenticated as. A change
  /// without the right is rejected with the code `.forbidden`.
  public enum Access: String, Sendable, Hashable, CaseIterable {
    /// Every caller that may use the space. Also one without a name.
    case anyone
    /// Every user with a name. The default of all rights except `share`.
    case authenticated
    /// The user that created the record. As a right to create, every user with a name has it.
    case owner
    /// The owner and the record's audience. As a right to create, every user with a name has it.
    case shared
    /// No user. Every request is refused. A condition that is given for the action decides in its place.
    case nobody
  }

  /// The users that may create records.
  package var create: Access
  /// The users that may see records. Other users receive none of them.
  package var read: Access
  /// The users that may change fields.
  package var update: Access
  /// The users that may delete records.
  package var delete: Access
  /// The users that may change a record's audience.
  package var share: Access
  /// The conditions as text, by action. The access of such an action is `.nobody`, for code that knows no conditions.
  package var conditions: [Action: String] = [:]

  /// True if changes of fields or deletions are reserved to a record's owner.
  package var knowsOwners: Bool {
    [read, update, delete].contains { $0 == .owner || $0 == .shared }
      || conditions.values.contains {
        $0.contains("owner")
      }
  }

  /// Creates permissions. By default every user with a name has all rights, except that only the owner changes the
  /// audience.
  ///
  /// - Parameters:
  ///   - create: The users that may insert records.
  ///   - read: The users that receive records. Others see neither the records nor their changes.
  ///   - update: The users that may change fields.
  ///   - delete: The users that may delete records.
  ///   - share: The users that may change a record's audience.
  public init(
    create: Access = .authenticated, read: Access = .authenticated, update: Access = .authenticated,
    delete: Access = .authenticated, share: Access = .owner
  ) {
    self.create = create
    self.read = read
    self.update = update
    self.delete = delete
    self.share = share
  }
}
