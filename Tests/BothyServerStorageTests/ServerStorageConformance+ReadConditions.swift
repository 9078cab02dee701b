import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of conditions on reading that a storage decides, counted in the rows that it gives back.
extension ServerStorageConformance {
  private static let member = Caller("bob")
  private static let isMember = "EXISTS(Member WHERE project = record.project AND user = principal.name)"

  private static func schema(_ read: String, indexed: Bool = true, alias: [String] = []) -> StoreSchema {
    var project = FieldSchema("project", .text, indexed: indexed)
    project.aliases = alias
    return StoreSchema(types: [
      TypeSchema(
        "Doc",
        fields: [
          project, FieldSchema("state", .text, optional: true, indexed: indexed),
          FieldSchema("rank", .int, optional: true),
        ],
        permissions: Permissions().where(read: read)),
      TypeSchema(
        "Member",
        fields: [
          FieldSchema("user", .text, indexed: true), FieldSchema("project", .text),
          FieldSchema("role", .text),
        ]),
    ])
  }

  private static func service(_ storage: any ServerStorage, _ schema: StoreSchema) -> SyncService {
    SyncService(storage: storage, rules: AccessRules(schema: schema), now: { 1000 })
  }

  private static func doc(_ number: Int, project: Int? = nil, owner: String = "ann") -> ServerRecord {
    let fields: [String: JSONValue] = [
      "project": .string("P\(project ?? number / 10)"), "state": number % 500 == 7 ? "public" : "draft",
      "rank": .int(Int64(number % 5)),
    ]
    return ServerRecord(
      id: RecordID(type: "Doc", id: "d\(number)"), container: "Doc", version: "", modified: 1, created: 1,
      owner: owner, fields: FieldsDocument(fields))
  }

  /// Stores 2000 docs, ten in each project, a member of two projects and three docs that bob owns.
  private static func fill(_ service: SyncService) async throws {
    for start in stride(from: 0, to: 2000, by: 500) {
      _ = try await service.restore((start..<start + 500).map { doc($0) }, into: "s")
    }
    let members = [("P3", "draft"), ("P150", "public")].map { project, role in
      ServerRecord(
        id: RecordID(type: "Member", id: "m" + project), version: "", modified: 1, created: 1, owner: "ann",
        fields: FieldsDocument(["user": "bob", "project": .string(project), "role": .string(role)]))
    }
    _ = try await service.restore(members + (5000..<5003).map { doc($0, owner: "bob") }, into: "s")
  }

  /// Returns the ids of docs in the pages of a device, the deleted ones with a minus.
  private static func pulled(
    _ service: SyncService, by user: Caller = member, limit: Int = 5000, in scope: SyncScope = .everything
  ) async throws -> Set<String> {
    var cursor: String?
    return try await pulled(service, by: user, limit: limit, in: scope, after: &cursor)
  }

  private static func pulled(
    _ service: SyncService, by user: Caller = member, limit: Int = 5000, in scope: SyncScope,
    after cursor: inout String?
  ) async throws -> Set<String> {
    var found: Set<String> = []
    while true {
      let request = SyncRequest(device: "d", pulls: [.init(scope, cursor: cursor)], limit: limit)
      let page = try #require(try await service.sync(space: "s", user: user, request).pages.first)
      found.formUnion(
        page.changes.filter { $0.id.type == "Doc" }.map { ($0.isDeleted ? "-" : "") + $0.id.id })
      cursor = page.cursor
      guard page.more else { return found }
    }
  }

  private static let membersDocs = Set(((30..<40).map { $0 } + (1500..<1510).map { $0 }).map { "d\($0)" })
  private static let ownDocs: Set<String> = ["d5000", "d5001", "d5002"]
  private static let publicDocs: Set<String> = ["d7", "d507", "d1007", "d1507"]

  static let sightChecks: [Check] = [
    Check("A member pulls, queries and counts what it may see, and reads little else") { storage in
      let schema = schema(isMember)
      try await fill(service(storage, schema))
      let counting = CountingStorage(storage, countsReads: true)
      let service = service(counting, schema)
      for limit in [5000, 7] {
        #expect(try await pulled(service, limit: limit) == membersDocs)
        let reads = counting.taken()
        #expect(reads.records <= 100 && reads.scans == 0, "pages of \(limit): \(reads)")
      }
      let query = AnyQuery("Doc", where: .compare(field: "rank", .less, .int(2)))
      #expect(try await service.query(space: "s", user: member, query).count == 8)
      #expect(try await service.count(space: "s", user: member, query) == 8)
      #expect(try await service.digest(space: "s", user: member, .everything).count == 22)
      let reads = counting.taken()
      #expect(reads.records <= 150 && reads.entries <= 200 && reads.scans == 0, "\(reads)")
    },
    Check("Owned, shared and public records are found beside those of members") { storage in
      let either =
        "\(isMember) OR _owner = principal.name OR state = 'public' OR audience INCLUDES principal.name"
      let schema = schema(either)
      let all = service(storage, schema)
      try await fill(all)
      var shared = doc(777)
      shared.sharing = .users("bob")
      _ = try await all.restore([shared], into: "s")
      let expected = membersDocs.union(ownDocs).union(publicDocs).union(["d777"])
      let counting = CountingStorage(storage, countsReads: true)
      for limit in [5000, 7] {
        #expect(try await pulled(service(counting, schema), limit: limit) == expected)
        let reads = counting.taken()
        #expect(reads.records <= 200, "pages of \(limit): \(reads)")
      }
      let found = try await all.query(space: "s", user: member, AnyQuery("Doc")).map(\.id.id)
      #expect(Set(found) == expected && found.count == expected.count)
      let anonymous = try await pulled(service(storage, schema), by: .anonymous)
      #expect(anonymous == publicDocs)
    },
    Check("Deleted records are told to those who could see them") { storage in
      let schema = schema(isMember)
      let service = service(storage, schema)
      try await fill(service)
      let joined = ServerRecord(
        id: RecordID(type: "Member", id: "cid"), version: "", modified: 1, created: 1, owner: "ann",
        fields: FieldsDocument(["user": "cid", "project": "P70", "role": "draft"]))
      _ = try await service.restore([joined], into: "s")
      let scopes = [SyncScope.everything, SyncScope(container: "Doc")]
      var cursors: [String?] = [nil, nil]
      for place in scopes.indices {
        let found = try await pulled(service, in: scopes[place], after: &cursors[place])
        #expect(found == membersDocs)
      }
      for (id, user) in [("d31", member), ("d32", member), ("d700", Caller("cid"))] {
        let record = RecordID(type: "Doc", id: id)
        let version = try await service.record(space: "s", user: user, record)?.version
        let verdict = try await service.perform(
          space: "s", user: user, SyncOperation(id: id, kind: .delete, record: record, base: version))
        guard case .applied = verdict else {
          Issue.record("\(verdict)")
          continue
        }
      }
      for place in scopes.indices {
        let found = try await pulled(service, in: scopes[place], after: &cursors[place])
        #expect(found == ["-d31", "-d32"])
        #expect(try await pulled(service, in: scopes[place]) == membersDocs.subtracting(["d31", "d32"]))
      }
    },
    Check("Without an index, or with fields of older names, records are read and left out") { storage in
      let schemas = [schema(isMember, indexed: false), schema(isMember, alias: ["folder"])]
      try await fill(service(storage, schemas[0]))
      for schema in schemas {
        let service = service(storage, schema)
        #expect(try await pulled(service) == membersDocs)
        #expect(try await service.query(space: "s", user: member, AnyQuery("Doc")).count == 20)
      }
    },
    Check("Negated memberships and conditions on the user hide what they should, and no more") { storage in
      let reads = ["NOT \(isMember) AND state = 'public'", "principal.name = 'bob' AND state = 'public'"]
      try await fill(service(storage, schema(isMember)))
      for (read, ids) in zip(reads, [publicDocs.subtracting(["d1507"]), publicDocs]) {
        let service = service(storage, schema(read))
        #expect(try await pulled(service) == ids, "\(read)")
        let count = try await service.count(space: "s", user: member, AnyQuery("Doc"))
        #expect(count == ids.count, "\(read)")
      }
      let pair = "project = record.project AND role = record.state AND user = principal.name"
      let unpaired = service(storage, schema("NOT EXISTS(Member WHERE \(pair))"))
      // Ten drafts of one project and a public record of the other are hidden.
      #expect(try await unpaired.count(space: "s", user: member, AnyQuery("Doc")) == 1992)
      #expect(try await pulled(unpaired).count == 1992)
      let other = service(storage, schema(reads[1]))
      #expect(try await pulled(other, by: Caller("cid")).isEmpty)
    },
  ]
}
