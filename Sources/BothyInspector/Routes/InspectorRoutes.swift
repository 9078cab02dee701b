import BothyStore
import BothySync
import HTTPTypes
import Hummingbird

/// The routes of all addresses. They are thin, because the values in `Answers` make the responses.
struct InspectorRoutes: PageRoutes {
  let subjects: InspectorSubjects
  let watch: Watch
  let looks: [CacheLook]

  init(_ subjects: InspectorSubjects, _ watch: Watch) {
    self.subjects = subjects
    self.watch = watch
    looks = subjects.caches.map { CacheLook($0.cache) }
  }

  func add(to router: some RouterMethods<some RequestContext>) {
    router.get("/api/overview") { _, _ in
      let overview = try await Overview(subjects)
      return Response.object { overview.write(to: &$0, subjects, isReachable: watch.isReachable) }
    }
    router.get("/api/records") { call, _ in
      let page = try await RecordPage(call, in: subjects.store)
      return Response.object { page.write(to: &$0) }
    }
    router.get("/api/record") { call, _ in try record(call) }
    router.get("/api/referrers") { call, _ in try await referrers(call) }
    router.get("/api/outbox") { call, _ in try outbox(call) }
    router.get("/api/rejected") { call, _ in try rejected(call) }
    router.get("/api/journal") { call, _ in try journal(call) }
    router.get("/api/timeline") { call, _ in try await timeline(call) }
    router.get("/api/history") { call, _ in try await history(call) }
    router.get("/api/containers") { _, _ in
      let containers = try Containers(subjects.store)
      return Response.object { containers.write(to: &$0) }
    }
    router.get("/api/caches") { _, _ in try await caches() }
    router.get("/api/cache/entries") { call, _ in try await cacheEntries(call) }
    router.get("/api/map") { call, _ in try await map(call) }
    router.get("/api/settings") { _, _ in
      let settings = try Settings(subjects)
      return Response.object { settings.write(to: &$0) }
    }
    router.get("/api/packs") { _, _ in
      let packs = Packs(subjects.packs)
      return Response.object { packs.write(to: &$0) }
    }
    addChanges(to: router)
  }

  private func record(_ call: Request) throws -> Response {
    let store = subjects.store
    let type = try RecordPage.type(call.required("type"), store)
    let id = RecordID(type: type.name, id: try call.required("id"))
    let record = try store.store.record(id)
    let entry = try store.pendingEntry(id)
    guard record != nil || entry != nil else { throw Self.gone(id) }
    return try .object { writer in
      try writer.object("record", record) { try RecordView($1, in: store).write(to: &$0) }
      try writer.object("pending", entry) { try PendingWork.write($1, in: store, to: &$0) }
    }
  }

  private func referrers(_ call: Request) async throws -> Response {
    let type = try RecordPage.type(call.required("type"), subjects.store)
    let referrers = try await Referrers(
      of: RecordID(type: type.name, id: try call.required("id")), in: subjects.store,
      limit: call.count("limit", otherwise: 20, most: 200))
    return .object { referrers.write(to: &$0) }
  }

  private func outbox(_ call: Request) throws -> Response {
    let store = subjects.store
    let limit = call.count("limit", otherwise: 50, most: 200)
    let after = call.given("afterType").map { RecordID(type: $0, id: call.given("afterID") ?? "") }
    let entries = try store.outboxEntries(after: after, limit: limit + 1)
    let counts = try store.pendingCounts()
    let isPaused = try store.isPausedInFile()
    return try .object { writer in
      try writer.list("entries", entries.prefix(limit)) { writer, entry in
        try entry.writeMembers(to: &writer, in: store)
        writer.member("inDoubt", entry.operationID != nil)
        writer.member("group", entry.group)
      }
      writer.member("total", counts.total)
      writer.member("paused", isPaused)
      writer.member("server", subjects.server != nil)
      writer.member("reachable", watch.isReachable)
      writer.object("next", entries.count > limit ? entries[limit - 1].id : nil) { $0.members($1) }
    }
  }

  private func rejected(_ call: Request) throws -> Response {
    let store = subjects.store
    let found = try store.rejectedEntries(limit: call.count("limit", otherwise: 50, most: 200))
    return try .object { writer in
      try writer.list("entries", found.entries) { try PendingWork.write($1, in: store, to: &$0) }
      writer.member("total", found.total)
    }
  }

  private func journal(_ call: Request) throws -> Response {
    let limit = call.count("limit", otherwise: 25, most: 200)
    let before = call.given("before").flatMap(Int64.init)
    let record = try call.given("type").map { RecordID(type: $0, id: try call.required("id")) }
    let entries = try subjects.store.journal.entries(
      of: record, losing: call.given("lost") != nil, before: before, limit: limit + 1)
    return .object { writer in
      writer.list("entries", Array(entries.prefix(limit))) { $1.writeMembers(to: &$0) }
      writer.member("next", entries.count > limit ? entries[limit - 1].number : nil)
    }
  }

  private func timeline(_ call: Request) async throws -> Response {
    let containers = try Containers(subjects.store)
    let past = try await PastSyncs(subjects.store, limit: call.count("limit", otherwise: 25, most: 400))
    return .object { writer in
      past.write(to: &writer)
      writer.list("moments", watch.timeline.all) { $1.write(to: &$0) }
      containers.write(to: &writer)
    }
  }

  private func history(_ call: Request) async throws -> Response {
    guard subjects.server != nil else { throw Self.noServer }
    let page = try await subjects.store.maintenance.history(
      before: call.given("before").flatMap(Int64.init), limit: 50)
    return .object { page.writeMembers(to: &$0) }
  }

  static func gone(_ id: RecordID) -> HTTPFailure {
    HTTPFailure(.notFound, "notFound", "\(id) is no longer on this device. Go back to the list.")
  }

  static let noServer = HTTPFailure(
    .conflict, "noServer",
    "This database has no server. Give one: bothy inspect DB --server URL --space NAME.")
}
