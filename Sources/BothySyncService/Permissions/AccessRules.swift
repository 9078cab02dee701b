public import BothyStore

/// The rules of a server beyond the sync protocol: schema, permissions and limits.
///
/// It is a value: a change affects no service that already has a copy. Limits hold for each request, not for a user or
/// a space.
///
/// ```swift
/// var rules = AccessRules(schema: [TodoList.self, Todo.self], minimumSchemaVersion: 2)
/// rules.queryTime = .seconds(2)
/// rules.historyLimit = 1000
/// ```
public struct AccessRules: Sendable {
  /// The schema that records are checked against; `nil` accepts any type and field. It has wire names, and a schema
  /// that is set is converted to them. For devices with several versions of an app see `StoreSchema.fleet`.
  ///
  /// A record that doesn't fit is rejected with the code `invalid` or `unknownType`. Records from before stay as they
  /// are, and are checked at their next change. New indexes are built by queries and by the upkeep.
  public var schema: StoreSchema? {
    didSet {
      schema = schema?.asOnTheWire
      aliases = Self.aliases(of: schema)
      conditions = PermissionTable(schema)
      fieldIndexes = FieldIndexSet(schema, conditions.memberships)
    }
  }
  /// The indexes that the schema declares, and those of the members in force.
  private(set) var fieldIndexes: FieldIndexSet
  /// The conditions of the schema's permissions.
  private(set) var conditions: PermissionTable
  /// The wire names of fields by their aliases, by type.
  private(set) var aliases: [String: [String: String]]
  /// True if a change that refers to a record that the space lacks is rejected. Needs a schema.
  ///
  /// The code is `unknownReference`. Each reference costs a look-up in the request's two reads. References to types
  /// that aren't synced aren't checked.
  public var checksReferences: Bool
  /// The most operations in one request.
  ///
  /// A request with more is refused with `SyncServiceError` `tooManyOperations`. Apps write up to a thousand records in
  /// a transaction, which travel together. A lower limit refuses such a transaction.
  public var operationLimit: Int
  /// The most changes in the pages of one answer.
  ///
  /// Others follow with the next request. Queries return at least a thousand records, whatever this limit is.
  public var pageLimit: Int
  /// The most bytes of one record's fields.
  ///
  /// The fields are measured as JSON. A larger record is rejected with the code `tooLarge`. The limit also holds for
  /// the values of its sensitive fields, taken together.
  public var recordSizeLimit: Int
  /// The most rows by which one request may change who sees what.
  ///
  /// A user who gains or loses access to a record is a row, a list being a record of its members. A list that is alone
  /// in its request may lose any members, and a record any one list. Beyond it the request is refused with
  /// `SyncServiceError` `tooManyReaders`.
  public var sharingRowLimit = 50_000
  /// The most lists of a space that name one user or group, an eighth of them of one owner. Each request of the user reads
  /// them.
  ///
  /// Beyond it the request is refused with `SyncServiceError` `tooManyReaders`. Lists from before stay as they are.
  package var listLimit = 1000
  /// The most records of a type that make one user or group a member, for the conditions of the schema's permissions. Each
  /// request of the user reads them. Records whose membership has ended aren't read, and don't count.
  ///
  /// Beyond it the request is refused like one with too many lists.
  package var membershipLimit = 1000
  /// The most scopes that one request pulls from.
  ///
  /// A request with more is refused with `SyncServiceError` `tooManyPulls`.
  public var pullLimit = 64
  /// The approximate number of bytes of records in one answer. The rest follows with the next request. A single record
  /// is never divided.
  ///
  /// It bounds the memory of a request, for pulls, queries and feeds alike. Lists of stamps or containers beyond it are
  /// refused with `SyncServiceError` `answerTooLarge`.
  public var answerSize = 8 << 20
  /// The most bytes of stored records that one request changes, with those that it compares.
  ///
  /// It bounds the memory of a push. Operations whose records are beyond it get no outcome, and devices send them with
  /// their next request. A transaction whose own records have more is rejected with the code `tooLarge`.
  public var pushSize = 32 << 20
  /// The longest time one query may take.
  ///
  /// After it the query ends with `SyncServiceError` `tooExpensive`. It holds for counts and histories too. The wait
  /// for a connection counts.
  public var queryTime: Duration = .seconds(10)
  /// The longest time the reading of all records of a scope may take, for a digest or a list of containers.
  ///
  /// After it the reading ends with `SyncServiceError` `tooExpensive`.
  public var scanTime: Duration = .seconds(60)
  /// The number of a space's last changes that are remembered with their user and time; 0 for none.
  ///
  /// Each change writes a row more. The feed has older changes too, without user, time and names of fields.
  public var historyLimit = 10_000
  /// The lowest accepted schema version. Requests of devices with a lower one are refused, and those must update.
  ///
  /// The error is `SyncServiceError` `updateRequired`. It concerns pulls too. 0 accepts every version.
  public var minimumSchemaVersion: Int
  /// Receives the values of sensitive fields, which are never part of a record: the space, the record and the values.
  ///
  /// It is called within the transaction, for each operation, and so holds up writes of the space. An error that it
  /// throws refuses the whole request. `nil` rejects operations that have such values.
  ///
  /// The values aren't taken back if the transaction isn't committed. The device then sends the operation again, with
  /// the same values, so a call may be repeated.
  public var receiveSecrets: (@Sendable (String, RecordID, Secrets) throws -> Void)?
  /// Takes all values of a request at once, in place of `receiveSecrets`, which only says then that they are taken.
  package var secretStaging: (any SecretStaging)?
  /// The team's own decision about writes of devices and other clients, or `nil`.
  ///
  /// It costs such a request one read more than a write without a rule, and the time of the rule. Imports by operators
  /// pass it by.
  public var writeRule: (any WriteRule)?
  /// True if writes are applied that `writeRule` can't decide at the time. Otherwise the request is refused with
  /// `WriteRuleUnavailable`, and clients send it again later.
  ///
  /// A decision that doesn't fit the write, such as an amended deletion, counts as undecided too.
  public var acceptsUndecided = false
  /// The vault with the values that `receiveSecrets` took. It is notified when a record is deleted. `nil` if the server
  /// doesn't manage them.
  ///
  /// It is notified after the transaction. If that fails, the next upkeep of the space deletes the values.
  public var secretVault: (any SecretVault)?
  /// The most hidden changes that a storage reads instead of its indexes. Tests set it to 0.
  package var fewHiddenChanges = 64
  /// The number of records whose unique values one transaction notes, if many are missing. Tests set it to less.
  package var uniqueStep = 20_000
  /// The most hidden changes and moves that the pages of one answer read. Each 4096 bytes of a hidden change count as one
  /// more. A little more may be read, because each read has several. The rest follows with the next request. Tests set it
  /// to less.
  package var hiddenRowLimit = 20_000

  /// Makes rules, by default without a schema.
  ///
  /// They accept a thousand operations in a request, five thousand changes in an answer, a mebibyte for a record and
  /// every version of the app. References are checked if a schema is set. The other limits have their defaults. A
  /// condition in the schema that doesn't fit it allows nothing.
  public init(
    schema: StoreSchema? = nil, checksReferences: Bool = true, operationLimit: Int = 1000,
    pageLimit: Int = 5000,
    recordSizeLimit: Int = 1 << 20, minimumSchemaVersion: Int = 0
  ) {
    self.schema = schema?.asOnTheWire
    aliases = Self.aliases(of: schema?.asOnTheWire)
    let conditions = PermissionTable(schema?.asOnTheWire)
    self.conditions = conditions
    fieldIndexes = FieldIndexSet(schema?.asOnTheWire, conditions.memberships)
    self.checksReferences = checksReferences
    self.operationLimit = operationLimit
    self.pageLimit = pageLimit
    self.recordSizeLimit = recordSizeLimit
    self.minimumSchemaVersion = minimumSchemaVersion
  }
}

/// The actions that permissions allow.
typealias AccessAction = Permissions.Action

/// The user of a request, with the lists that it is a member of, and its memberships.
struct Viewer: Sendable {
  var user: Caller
  var lists: Set<String> = []
  /// The memberships that conditions of the schema look for.
  var memberships = Memberships()

  /// Returns true if this sharing includes the user.
  func isIncluded(in sharing: Audience) -> Bool {
    guard !sharing.isEmpty else { return false }
    return user.names.contains(where: sharing.users.hasName)
      || sharing.lists.contains(where: lists.hasName)
  }
}

extension AccessRules {
  /// Returns the declaration of a type. Every server knows that of lists.
  func declared(_ type: String) -> TypeSchema? {
    type == UserList.typeName ? UserList.schema : schema?[type]
  }

  /// Returns the schema that queries of a type are checked against; `nil` checks nothing.
  ///
  /// The type of lists has one of its own, on every server.
  public func schema(for type: String) -> StoreSchema? {
    type == UserList.typeName ? StoreSchema(types: [UserList.schema]) : schema
  }

  /// True if any rule depends on the lists that a user is a member of.
  var usesSharing: Bool {
    conditions.usesAudience || schema?.types.contains { $0.permissions?.useSharing ?? false } ?? false
  }

  /// Returns true if only the audience of a record of the type can see it.
  func hidesUnshared(_ type: String) -> Bool { declared(type)?.permissions?.read == .shared }

  /// The types whose records only their audience can see.
  var typesHidingUnshared: [String] {
    schema?.types.filter { $0.permissions?.read == .shared }.map(\.name) ?? []
  }

  /// Returns true if the viewer may do `action` to a record of `type` owned by `owner`. Returns false if a condition
  /// decides the action. Pure.
  func allows(
    _ action: AccessAction, _ type: String, _ viewer: Viewer, owner: String?, sharing: Audience = .nobody
  ) -> Bool {
    guard let permissions = declared(type)?.permissions else { return true }
    let access: Permissions.Access =
      switch action {
      case .create: permissions.create
      case .read: permissions.read
      case .update, .become: permissions.update
      case .delete: permissions.delete
      case .share: permissions.share
      }
    switch access {
    case .anyone: return true
    case .authenticated: return viewer.user.name != nil
    case .owner, .shared:
      guard let name = viewer.user.name else { return false }
      return action == .create || owner.isSameName(as: name)
        || access == .shared && viewer.isIncluded(in: sharing)
    case .nobody: return false
    }
  }

  /// Returns true if the viewer may see the record. Tombstones of records that it could see stay visible.
  func shows(_ record: ServerRecord, to viewer: Viewer) -> Bool {
    if let condition = conditions[.read, record.id.type] {
      return isDecidable(record) && condition.allows(record, viewer, self)
    }
    return allows(.read, record.id.type, viewer, owner: record.owner, sharing: record.sharing)
  }

  /// The most problems of a record that a rejection names.
  private static let namedProblems = 20

  /// Checks the fields of a record. Returns `nil` if they are valid.
  func problem(with fields: [String: JSONValue], of type: String) -> Rejection? {
    let isList = type == UserList.typeName
    guard isList || schema != nil else { return nil }
    guard let declared = declared(type) else {
      return Rejection(code: "unknownType", message: "The server's schema has no type '\(type)'.")
    }
    var errors: [Rejection.FieldError] = []
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      guard let field = declared[name] else {
        let short = String(name.prefix(64))
        errors.append(.init(field: short, code: "unknown", message: "\(type) has no field '\(short)'."))
        continue
      }
      if value.isNull { continue }
      do { _ = try FieldValue(json: value, kind: field.kind) } catch {
        errors.append(.init(field: name, code: "invalid", message: "\(error)"))
      }
    }
    for field in declared.fields where !field.isOptional && (fields[field.name] ?? .null).isNull {
      errors.append(.init(field: field.name, code: "required", message: "\(type).\(field.name) is required."))
    }
    if isList, errors.isEmpty, let error = UserList.problem(with: fields) ?? Self.problemOfForm(fields) {
      errors.append(error)
    }
    guard !errors.isEmpty else { return nil }
    // A rejection is remembered, so it has a limited size.
    let named = errors.prefix(Self.namedProblems)
    let rest = errors.count - named.count
    return Rejection(
      code: "invalid",
      message: "\(type) is not valid: " + named.map(\.message).joined(separator: " ")
        + (rest > 0 ? " And \(rest) other problems." : ""), fields: Array(named))
  }

  private static func problemOfForm(_ list: [String: JSONValue]) -> Rejection.FieldError? {
    if UserList.members(in: list).allSatisfy(\.isNormalName) { return nil }
    return .init(
      field: "members", code: "invalid",
      message: "The members' names are in Unicode's normal form C (NFC), like those of tokens.")
  }

  /// Rejects the value of a sensitive field in an ordinary one, which is sent to every device.
  func sensitiveInClear(_ operation: SyncOperation) -> Rejection? {
    let type = operation.record.type
    let found = schema?[type]?.fields.filter { field in
      field.isSensitive && !(operation.fields[field.name] ?? .null).isNull
    }
    guard let found, !found.isEmpty else { return nil }
    let errors = found.map { field in
      Rejection.FieldError(
        field: field.name, code: "sensitiveInClear",
        message: "\(type).\(field.name) is sensitive and came as an ordinary field.")
    }
    return Rejection(
      code: "sensitiveInClear",
      message: errors.map(\.message).joined(separator: " ")
        + " Send it as a secret; an older app needs an update.",
      fields: errors)
  }

  /// Rejects secrets for fields that aren't sensitive in the schema, and more of them than a record may have.
  func unfitSecrets(_ operation: SyncOperation) -> Rejection? {
    let (type, secrets) = (operation.record.type, operation.secrets.values)
    if let declared = schema?[type] {
      let sensitive = Set(declared.fields.filter(\.isSensitive).map(\.name))
      if let name = secrets.keys.sorted().first(where: { !sensitive.contains($0) }) {
        return Rejection(
          code: "notSensitive",
          message: "\(type).\(name.prefix(64)) is not a sensitive field. Send its value as an ordinary field."
        )
      }
    }
    let bytes = secrets.values.reduce(0) { $0.addingClamped($1.utf8.count) }
    guard secrets.count > FixedLimits.secretsOfRecord || bytes > recordSizeLimit else { return nil }
    return Rejection(
      code: "tooLarge",
      message:
        "The sensitive fields of \(type) have \(secrets.count) values and \(bytes) bytes; this server takes "
        + "\(FixedLimits.secretsOfRecord) and \(recordSizeLimit).")
  }

  /// The rejection of operations that are applied together and that need more records than one request may read.
  var tooLargeTogether: Rejection {
    Rejection(
      code: "tooLarge",
      message:
        "The change, with its transaction, needs stored records of more than \(pushSize) bytes (--push-size) or refers "
        + "to more than \(FixedLimits.references) records. Divide it, and keep large values in blobs.")
  }

  /// Returns the fields with the schema's defaults filled in. In a changed record only required fields are filled in,
  /// which an older app may not know.
  func withDefaults(
    _ fields: [String: JSONValue], of type: String, isNew: Bool = true
  ) -> [String: JSONValue] {
    guard let declared = schema?[type] else { return fields }
    var complete = fields
    for field in declared.fields where (fields[field.name] ?? .null).isNull && (isNew || !field.isOptional) {
      guard let value = field.defaultValue else { continue }
      var writer = JSONWriter()
      value.write(to: &writer)
      complete[field.name] = try? JSONValue(parsing: writer.bytes)  // a value's own JSON always parses
    }
    return complete
  }

  /// Returns the records that `fields` refer to, each with its field. Types that aren't synced are left out.
  func references(in fields: [String: JSONValue], of type: String) -> [(field: String, id: RecordID)] {
    guard checksReferences, let declared = schema?[type] else { return [] }
    return declared.fields.flatMap { field -> [(field: String, id: RecordID)] in
      guard let target = field.kind.target?.type, schema?[target]?.isSynced ?? false,
        let value = fields[field.name]
      else { return [] }
      let ids = value.stringValue.map { [$0] } ?? value.arrayValue?.compactMap(\.stringValue) ?? []
      return ids.map { (field.name, RecordID(type: target, id: $0)) }
    }
  }
}

extension Permissions {
  fileprivate var useSharing: Bool { [create, read, update, delete, share].contains(.shared) }
}
