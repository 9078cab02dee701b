import BothyStore
import BothySync
import HTTPTypes

/// The routes of all addresses. They are thin, because the values in `Answers` make the responses.
struct InspectorRoutes: Sendable {
  let subjects: InspectorSubjects
  let watch: Watch
  let looks: [CacheLook]

  init(_ subjects: InspectorSubjects, _ watch: Watch) {
    self.subjects = subjects
    self.watch = watch
    looks = subjects.caches.map { CacheLook($0.cache) }
  }

  func answer(_ call: InspectorCall) async throws -> Answer {
    if let asset = Assets.named(call.path) {
      guard call.method == .get || call.method == .head else { throw Self.wrongMethod }
      return asset
    }
    switch (call.method, call.path) {
    case (.get, "/events"): return .events
    case (.get, _): if let answer = try await read(call) { return answer }
    case (.post, _): if let answer = try await change(call) { return answer }
    default: throw Self.wrongMethod
    }
    throw HTTPFailure.notFound
  }

  private static let wrongMethod = HTTPFailure(
    .methodNotAllowed, "methodNotAllowed", "The inspector is read with GET and changed with POST.")

  private func read(_ call: InspectorCall) async throws -> Answer? {
    let store = subjects.store
    switch call.path {
    case "/api/overview":
      let overview = try await Overview(subjects)
      return .object { overview.write(to: &$0, subjects, isReachable: watch.isReachable) }
    case "/api/records":
      let page = try await RecordPage(call, in: store)
      return .object { page.write(to: &$0) }
    case "/api/record": return try record(call)
    case "/api/outbox": return try outbox(call)
    case "/api/inbox":
      let inbox = try store.inbox(limit: call.count("limit", otherwise: 50, most: 200))
      return try .object { writer in
        try writer.list("entries", inbox.entries) { try PendingWork.write($1, in: store, to: &$0) }
        writer.member("total", inbox.total)
      }
    case "/api/journal": return try journal(call)
    case "/api/timeline": return try await timeline(call)
    case "/api/history": return try await history(call)
    case "/api/containers":
      let containers = try Containers(store)
      return .object { containers.write(to: &$0) }
    case "/api/caches": return try await caches()
    case "/api/cache/entries": return try await cacheEntries(call)
    case "/api/map": return try await map(call)
    case "/api/settings":
      let settings = try Settings(subjects)
      return .object { settings.write(to: &$0) }
    case "/api/packs":
      let packs = Packs(subjects.packs)
      return .object { packs.write(to: &$0) }
    default: return nil
    }
  }

  private func record(_ call: InspectorCall) throws -> Answer {
    let store = subjects.store
    let type = try RecordPage.type(call.required("type"), store)
    let id = RecordID(type: type.name, id: try call.required("id"))
    let record = try store.store.record(id)
    let entry = try store.pendingEntry(id)
    guard record != nil || entry != nil else {
      throw HTTPFailure(
        .notFound, "notFound", "\(id) is no longer on this device. Go back to the list.")
    }
    return try .object { writer in
      try writer.object("record", record) { try RecordView($1, in: store).write(to: &$0) }
      try writer.object("pending", entry) { try PendingWork.write($1, in: store, to: &$0) }
    }
  }

  private func outbox(_ call: InspectorCall) throws -> Answer {
    let store = subjects.store
    let limit = call.count("limit", otherwise: 50, most: 200)
    let after = call.given("afterType").map { RecordID(type: $0, id: call.query["afterID"] ?? "") }
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
      writer.object("next", entries.count > limit ? entries[limit - 1].record : nil) { $0.members($1) }
    }
  }

  private func journal(_ call: InspectorCall) throws -> Answer {
    let limit = call.count("limit", otherwise: 25, most: 200)
    let before = call.given("before").flatMap(Int64.init)
    let entries = try subjects.store.journal.entries(
      losing: call.given("lost") != nil, before: before, limit: limit + 1)
    return .object { writer in
      writer.list("entries", Array(entries.prefix(limit))) { $1.writeMembers(to: &$0) }
      writer.member("next", entries.count > limit ? entries[limit - 1].number : nil)
    }
  }

  private func timeline(_ call: InspectorCall) async throws -> Answer {
    let containers = try Containers(subjects.store)
    let past = try await PastSyncs(subjects.store, limit: call.count("limit", otherwise: 25, most: 400))
    return .object { writer in
      past.write(to: &writer)
      writer.list("moments", watch.timeline.all) { $1.write(to: &$0) }
      containers.write(to: &writer)
    }
  }

  private func history(_ call: InspectorCall) async throws -> Answer {
    guard subjects.server != nil else { throw Self.noServer }
    let page = try await subjects.store.maintenance.history(
      before: call.given("before").flatMap(Int64.init), limit: 50)
    return .object { page.writeMembers(to: &$0) }
  }

  static let noServer = HTTPFailure(
    .conflict, "noServer",
    "This database has no server. Give one: bothy inspect DB --server URL --space NAME.")
}
