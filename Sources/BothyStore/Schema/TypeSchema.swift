/// One declared type of record: its name, its fields, and whether it is synced.
public struct TypeSchema: Sendable, Hashable {
  /// A letter, then letters, digits or `_`, at most 64 bytes; not beginning with `bothy`. Names differ by more than
  /// case.
  public var name: String
  /// The fields in the order that `Entity.encode` and `init` visit them.
  public var fields: [FieldSchema]
  /// Whether records of the type are exchanged with the server or stay on this device.
  public var isSynced: Bool
  /// Whether records can be written without a network; matters to synced types.
  public var writeMode: WriteMode
  /// Whether conflicts are merged field by field, whatever merge policy the store has.
  package var mergesByField = false
  /// Who may do what on the server; nil means every authenticated principal may do everything.
  public var permissions: Permissions?
  /// The type's name on the wire and on the server, where it was said; nil for the name it was first declared by.
  public var wire: String?

  /// Whether a write may wait for the network.
  public enum WriteMode: String, Sendable, Hashable, CaseIterable {
    /// Written locally first or at once on the server, as the save policy says.
    case offlineCapable
    /// Written on the server only; without a network the write fails and nothing is queued.
    case remoteOnly
  }

  /// A synced type that is written locally first and has no permissions, unless told otherwise; `StoreSchema.validate`
  /// checks it.
  public init(
    _ name: String, fields: [FieldSchema], synced: Bool = true, writeMode: WriteMode = .offlineCapable,
    permissions: Permissions? = nil, wire: String? = nil
  ) {
    self.name = name
    self.fields = fields
    isSynced = synced
    self.writeMode = writeMode
    self.permissions = permissions
    self.wire = wire
  }

  /// The type's name on the wire. Its records' own container has it too.
  public var wireName: String { wire ?? name }

  /// The position of the field called `name` in `fields`; linear in the number of fields.
  public func index(of name: String) -> Int? { fields.firstIndex { $0.name == name } }

  /// The field called `name`, nil when there is none; linear in the number of fields.
  public subscript(_ name: String) -> FieldSchema? { fields.first { $0.name == name } }

  /// Whether any field is part of the full-text index.
  public var hasFullText: Bool { fields.contains(where: \.isFullText) }
}

/// Who may do what with the records of a type, on the server.
public struct Permissions: Sendable, Hashable {
  /// Who is let through. The server decides, with the principal that the request was authenticated as.
  public enum Access: String, Sendable, Hashable, CaseIterable {
    /// Whoever may enter the space.
    case anyone
    /// Whoever has a name.
    case authenticated
    /// The principal that made the record.
    case owner
    /// The owner and those whom the record is shared with.
    case shared
    /// No one; whoever asks is refused.
    case nobody
  }

  /// Who may make records.
  public var create: Access
  /// Who may see records; nobody else is sent any of them.
  public var read: Access
  /// Who may change fields.
  public var update: Access
  /// Who may delete records.
  public var delete: Access
  /// Who may let others in and shut them out.
  public var share: Access

  /// Whether fields or deletions are the matter of a record's owner.
  package var knowsOwners: Bool {
    [read, update, delete].contains { $0 == .owner || $0 == .shared }
  }

  /// Everything is open to whoever has a name, and sharing to the owner, unless told otherwise.
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
