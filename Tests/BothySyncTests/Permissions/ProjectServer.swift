import BothyStore
import BothySync
import BothySyncService
import Testing

/// A server of projects: a leader has all rights to its project, and its members those of their role.
struct ProjectServer {
  typealias Change = BothySync.SyncOperation

  private static let isLeader = "EXISTS(Project WHERE id = record.project AND lead = principal.name)"
  private static let isMember =
    "EXISTS(Membership WHERE project = record.project AND user = principal.name)"
  private static let mayWrite =
    "EXISTS(Membership WHERE project = record.project AND user = principal.name AND role != 'reader')"

  static let schema = StoreSchema(types: [
    TypeSchema(
      "Project", fields: [FieldSchema("name", .text), FieldSchema("lead", .text, indexed: true)],
      permissions: Permissions().where(
        create: "lead = principal.name",
        read:
          "lead = principal.name OR EXISTS(Membership WHERE project = record.id AND user = principal.name)",
        update: "lead = principal.name", become: "lead IS NOT NULL", delete: "lead = principal.name")),
    TypeSchema(
      "Membership",
      fields: [
        FieldSchema("project", .reference(to: "Project", onDelete: .deny)),
        FieldSchema("user", .text, indexed: true), FieldSchema("role", .text, optional: true),
      ],
      permissions: Permissions().where(
        create: isLeader, read: "user = principal.name OR \(isLeader)", update: isLeader, delete: isLeader)),
    TypeSchema(
      "Task",
      fields: [
        FieldSchema("project", .reference(to: "Project", onDelete: .deny)), FieldSchema("title", .text),
        FieldSchema("state", .text, optional: true),
      ],
      permissions: Permissions().where(
        create: "\(isLeader) OR \(mayWrite)", read: "state = 'public' OR \(isLeader) OR \(isMember)",
        update: "\(isLeader) OR \(mayWrite)", delete: "\(isLeader) OR _owner = principal.name")),
  ])

  let service: SyncService

  init(_ schema: StoreSchema = schema) throws {
    service = SyncService(
      storage: try SQLiteServerStorage(), rules: AccessRules(schema: schema), now: { 1000 })
  }

  /// Sends the changes in one request, and returns the verdicts: a version, or a word.
  @discardableResult
  func send(_ user: Caller, _ changes: Change...) async throws -> [String] {
    let request = SyncRequest(device: UUIDv7.make(), operations: changes)
    return try await service.sync(space: "s", user: user, request).outcomes.map { outcome in
      switch outcome.verdict {
      case .applied(let version, _, _), .duplicate(let version, _, _): version
      case .conflict(let current): current.map { "conflict with \($0.version)" } ?? "conflict"
      case .rejected(let rejection): rejection.code
      case .waiting: "waiting"
      }
    }
  }

  func pull(_ user: Caller, _ cursor: String? = nil) async throws -> SyncResponse.Page {
    let request = SyncRequest(device: "d", pulls: [.init(.everything, cursor: cursor)])
    let response = try await service.sync(space: "s", user: user, request)
    return try #require(response.pages.first)
  }

  static func insert(_ type: String, _ id: String, _ fields: [String: JSONValue]) -> Change {
    Change(id: "i-\(id)", kind: .insert, record: RecordID(type: type, id: id), fields: fields)
  }

  static func update(_ type: String, _ id: String, _ base: String, _ fields: [String: JSONValue]) -> Change {
    Change(
      id: "u-\(id)-\(base)", kind: .update, record: RecordID(type: type, id: id), base: base, fields: fields)
  }

  static func delete(_ type: String, _ id: String, _ base: String) -> Change {
    Change(id: "d-\(id)", kind: .delete, record: RecordID(type: type, id: id), base: base)
  }

  /// Makes a project of Ann with one task, in one request.
  func found() async throws {
    let verdicts = try await send(
      Caller("ann"), Self.insert("Project", "P", ["name": "hut", "lead": "ann"]),
      Self.insert("Task", "T", ["project": "P", "title": "roof"]))
    #expect(verdicts == ["1", "2"])
  }
}
