public import BothyStore

/// What a server accepts, beyond what the sync rules say: schema, permissions, limits.
public struct AuthorityRules: Sendable {
  /// When given, records are checked against it; when nil, any type and field is kept as it comes. It speaks wire names:
  /// what is set is turned into them. For devices of several versions of an app see `StoreSchema.fleet`.
  public var schema: StoreSchema? {
    didSet {
      schema = schema?.asOnTheWire
      aliases = Self.aliases(of: schema)
    }
  }
  /// The wire names of fields by their aliases, by type.
  private(set) var aliases: [String: [String: String]]
  /// Whether a change that refers to a record that the space has not is refused. Needs a schema.
  public var checksReferences: Bool
  /// The most operations in one request.
  public var operationLimit: Int
  /// The most changes in the pages of one answer.
  public var pageLimit: Int
  /// The most bytes of one record's fields.
  public var recordSizeLimit: Int
  /// The most places that one request pulls from.
  public var pullLimit = 64
  /// About how many bytes of records one answer brings: what is left follows with the next request. A single record
  /// is never divided.
  public var answerSize = 8 << 20
  /// How long one query may take.
  public var queryTime: Duration = .seconds(10)
  /// How long the reading of all records of a scope may take, for a digest or a list of containers.
  public var scanTime: Duration = .seconds(60)
  /// How many of a space's last changes are remembered with who made them and when; 0 for none.
  public var historyLimit = 10_000
  /// Devices whose schema version is lower are told to update; their operations are refused.
  public var minimumSchemaVersion: Int
  /// Takes the values of sensitive fields, which are never part of a record: the space, the record, the values. What
  /// it throws refuses the whole request. Nil refuses operations that have such values.
  public var receiveSecrets: (@Sendable (String, RecordID, Secrets) throws -> Void)?
  /// What keeps the values that `receiveSecrets` took; it is told when a record was deleted. Nil where they are no
  /// matter of the server's.
  public var secretVault: (any SecretVault)?

  /// Unless told otherwise: no schema, references checked where there is one, a thousand operations in a request, five
  /// thousand changes in an answer, a mebibyte for a record, every version of the app.
  public init(
    schema: StoreSchema? = nil, checksReferences: Bool = true, operationLimit: Int = 1000,
    pageLimit: Int = 5000,
    recordSizeLimit: Int = 1 << 20, minimumSchemaVersion: Int = 0
  ) {
    self.schema = schema?.asOnTheWire
    aliases = Self.aliases(of: schema?.asOnTheWire)
    self.checksReferences = checksReferences
    self.operationLimit = operationLimit
    self.pageLimit = pageLimit
    self.recordSizeLimit = recordSizeLimit
    self.minimumSchemaVersion = minimumSchemaVersion
  }
}

/// The actions that permissions speak of.
enum AccessAction { case create, read, update, delete, share }

/// Who asks, with the lists that it is a member of.
struct Viewer: Sendable {
  var principal: Principal
  var lists: Set<String> = []

  /// Whether a record with this sharing is shared with the principal.
  func isIncluded(in sharing: Sharing) -> Bool {
    guard !sharing.isEmpty else { return false }
    return principal.names.contains(where: sharing.principals.contains)
      || !sharing.lists.isDisjoint(with: lists)
  }
}

extension AuthorityRules {
  /// The declaration of a type; every server knows that of lists.
  func declared(_ type: String) -> TypeSchema? {
    type == PrincipalList.typeName ? PrincipalList.schema : schema?[type]
  }

  /// The schema that queries of a type are checked against; nil checks nothing.
  public func schema(for type: String) -> StoreSchema? {
    type == PrincipalList.typeName ? StoreSchema(types: [PrincipalList.schema]) : schema
  }

  /// Whether anything depends on which lists a principal is a member of.
  var usesSharing: Bool { schema?.types.contains { $0.permissions?.useSharing ?? false } ?? false }

  /// Whether sharing decides who sees the records of a type.
  func hidesUnshared(_ type: String) -> Bool { declared(type)?.permissions?.read == .shared }

  /// Whether the viewer may do `action` to a record of `type` owned by `owner`. Pure.
  func allows(
    _ action: AccessAction, _ type: String, _ viewer: Viewer, owner: String?, sharing: Sharing = .nobody
  ) -> Bool {
    guard let permissions = declared(type)?.permissions else { return true }
    let access: Permissions.Access =
      switch action {
      case .create: permissions.create
      case .read: permissions.read
      case .update: permissions.update
      case .delete: permissions.delete
      case .share: permissions.share
      }
    switch access {
    case .anyone: return true
    case .authenticated: return viewer.principal.name != nil
    case .owner, .shared:
      guard let name = viewer.principal.name else { return false }
      return action == .create || owner == name || access == .shared && viewer.isIncluded(in: sharing)
    case .nobody: return false
    }
  }

  /// Whether the viewer may see the record. Tombstones of records it could see stay visible to it.
  func shows(_ record: ServerRecord, to viewer: Viewer) -> Bool {
    allows(.read, record.id.type, viewer, owner: record.owner, sharing: record.sharing)
  }

  /// The most problems of a record that a refusal names.
  private static let namedProblems = 20

  /// Checks and completes the fields of a record. Returns nil when they are in order.
  func problem(with fields: [String: JSONValue], of type: String) -> Rejection? {
    let isList = type == PrincipalList.typeName
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
    if isList, errors.isEmpty, let error = PrincipalList.problem(with: fields) { errors.append(error) }
    guard !errors.isEmpty else { return nil }
    // A refusal is remembered, so it has a bounded size.
    let named = errors.prefix(Self.namedProblems)
    let rest = errors.count - named.count
    return Rejection(
      code: "invalid",
      message: "\(type) is not valid: " + named.map(\.message).joined(separator: " ")
        + (rest > 0 ? " And \(rest) other problems." : ""), fields: Array(named))
  }

  /// Refuses the value of a sensitive field that comes as an ordinary one: every device would get it.
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

  /// The most secrets of one record, and of one request: each is a file that is written while others wait.
  static let secretsOfRecord = 64
  static let secretsOfRequest = 500

  /// Refuses secrets for fields that the schema does not have as sensitive, and more of them than a record may have.
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
    guard secrets.count > Self.secretsOfRecord || bytes > recordSizeLimit else { return nil }
    return Rejection(
      code: "tooLarge",
      message:
        "The sensitive fields of \(type) have \(secrets.count) values and \(bytes) bytes; this server takes "
        + "\(Self.secretsOfRecord) and \(recordSizeLimit).")
  }

  /// The fields of a new record with the schema's defaults filled in; of one that is changed those that must have a value,
  /// which an older app does not know.
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

  /// The records that `fields` refer to, each with its field. Those of types that are not synced never reach a server.
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
