// Twenty everyday tasks, as they are first written. `scripts/check-guesses` compiles them, so they stay as they are.

import Foundation
import Bothy

// 1. Open a store.
func open() throws -> SyncedStore {
  try SyncedStore(
    named: "todos", schema: [TodoList.self, Todo.self],
    remote: BothyRemote(url: "https://todo.example.org", space: "home") { try await token() })
}
func token() async throws -> String { "" }

// 2. Save one, and several.
func save(_ store: SyncedStore) async throws {
  try await store.save(Todo(title: "Oil the lamp"))
  try await store.save([Todo(title: "Rope"), Todo(title: "Stove")])
}

// 3. Change a field.
func change(_ store: SyncedStore, _ todo: Todo, id: String) async throws {
  try await store.update(Todo.self, id: id) { $0.done.toggle() }
  try await store.update(todo) { $0.title += "!" }
  var copy = todo
  copy.done = true
  try await store.save(copy)
}

// 4. Delete.
func remove(_ store: SyncedStore, _ todo: Todo, id: String) async throws {
  try await store.delete(todo)
  try await store.delete(Todo.self, id: id)
  try await store.delete([todo])
  let count = try await store.delete(Todo.where { $0.done })
  print(count)
}

// 5. Fetch with a filter and an order.
func list(_ store: SyncedStore, now: Date) async throws -> [Todo] {
  for todo in try await store.fetch(Todo.where { !$0.done }.order(by: \.title)) { print(todo.title) }
  _ = try await store.fetch(Todo.self)
  _ = try await store.fetch(RecordQuery<Todo>().where { $0.done == false }.order { $0.title })
  _ = try await store.fetch(Todo.where { ["a", "b"].contains($0.title) })
  _ = try await store.fetch(Todo.where { (1...3).contains($0.priority) && !$0.done })
  _ = try await store.fetch(Todo.where { $0.done && $0.due < now || $0.title.hasPrefix("x") && !($0.priority > 2) })
  _ = try await store.fetch(Todo.where { $0.due != nil && $0.due < now }.order { $0.due.descending }.limit(10))
  return try await store.fetch(Todo.where { $0.title.contains("oil", ignoringCase: true) }.order(by: \.due, .descending))
}

// 6. One record.
func one(_ store: SyncedStore, id: String) async throws -> Todo? {
  let first = try await store.fetch(Todo.where { $0.done }.first())
  print(first?.title ?? "none")
  return try await store.fetch(Todo.self, id: id)
}

// 7. Count and aggregates.
func numbers(_ store: SyncedStore) async throws {
  let open: Int = try await store.count(Todo.where { !$0.done })
  let all: Int = try await store.count(Todo.self)
  let effort: Double = try await store.fetch(Todo.all.sum(\.effort))
  let last: Date?? = try await store.fetch(Todo.all.maximum(\.due))
  for group in try await store.fetch(Todo.all.group(by: \.list).count()) { print(group.key?.id ?? "-", group.value) }
  print(open, all, effort, last as Any)
}

// 8. A parent with its children; children with their parent; counts.
func related(_ store: SyncedStore) async throws {
  for list in try await store.fetch(TodoList.all.with(Todo.where { !$0.done }.order(by: \.title), by: \.list)) {
    print(list.name, list.related.map(\.title))
  }
  for todo in try await store.fetch(Todo.all.with(\.list)) { print(todo.title, todo.related?.name ?? "no list") }
  for list in try await store.fetch(TodoList.order(by: \.name).withCount(of: Todo.all, by: \.list)) {
    print(list.name, list.related)
  }
}

// 9. Nearby and full text.
func nearby(_ store: SyncedStore, here: Coordinate) async throws -> [Stop] {
  _ = try await store.fetch(Todo.all.matching("rope knots"))
  _ = try await store.fetch(Stop.where { $0.place.isWithin(metres: 500, of: here) })
  return try await store.fetch(Stop.all.nearest(to: here, by: \.place).limit(3))
}

// 10. Several changes in one transaction.
func transaction(_ store: SyncedStore, _ id: String) async throws -> Int {
  try await store.write(.atomic) { tx in
    let list = TodoList(name: "Camp")
    try tx.save(list)
    for todo in try tx.fetch(Todo.where { $0.list == nil }) { try tx.update(todo) { $0.list = Reference(list) } }
    return try tx.count(Todo.where { $0.list == list })
  }
}

// 11. A consistent read, and SQL.
func snapshot(_ store: SyncedStore, limit: Int) async throws {
  let (todos, lists) = try await store.read { (try $0.fetch(Todo.self), try $0.fetch(TodoList.self)) }
  let rows = try await store.fetch(SQLQuery("SELECT title, count(*) AS n FROM Todo GROUP BY title HAVING n > \(limit)", reading: Todo.self))
  for row in rows { let title: String? = row["title"]; print(title ?? "", row["n"] ?? 0) }
  print(todos.count, lists.count)
}

// 12. Observe.
func observe(_ store: SyncedStore) async throws {
  for try await todos in store.values(of: Todo.where { !$0.done }) { print(todos.count) }
  for try await count in store.values(of: Todo.all.count()) { print(count) }
}

// 13. What became of a save.
func verdict(_ store: SyncedStore) async throws {
  let receipt = try await store.save(Todo(title: "Wax"))
  let result = try await receipt.result()
  switch result.verdict {
  case .accepted, .merged: print(result.record?.title ?? "deleted", result.origin)
  case .replaced: print("Someone else was first. Yours was: \(result.overwritten?.title ?? "-")")
  case .rejected(let rejection): print(rejection.message)
  }
}

// 14. Policies of one call.
func policies(_ store: SyncedStore) async throws {
  let fresh = try await store.fetchResult(Todo.all, policy: .remoteElseLocal)
  if fresh.origin == .local { print("offline", fresh.age as Any) }
  for todo in fresh { print(todo.title) }
  try await store.save(Todo(title: "draft"), policy: .draft)
}

// 15. Sync and status.
func syncing(_ store: SyncedStore) async {
  let report = await store.sync()
  if report.obstacle == .unreachable { print("offline") }
  for await status in store.statuses { print(status.pendingCount, status.isSyncing) }
}

// 16. Rejected changes.
func rejected(_ store: SyncedStore) async throws {
  for entry in try await store.outbox.rejected() {
    if case .quarantined(let rejection) = entry.state { print(rejection.message, rejection.fields) }
    try await store.outbox.resolve(entry, .revert)
  }
}

// 17. Conflicts: rules and the journal.
func conflicts() throws -> SyncOptions {
  var options = SyncOptions()
  options.merging = MergePolicies(default: .fieldByField)
  options.merging.set(.localWins, for: TodoList.self)
  options.merging.set(for: Todo.self, on: [.update]) { conflict in
    guard var merged = conflict.suggestion else { return .remote }
    merged.priority = max(conflict.local?.priority ?? 0, conflict.remote?.priority ?? 0)
    return .merged(merged)
  }
  return options
}
func journal(_ store: SyncedStore, _ todo: Todo) async throws {
  for entry in try await store.journal.entries(for: todo) {
    if let lost = try store.journal.overwritten(Todo.self, in: entry) { print(lost.title, entry.policy, entry.date) }
    try await store.journal.restore(entry)
  }
}

// 18. Subscriptions, sharing, blobs.
func groups(_ store: SyncedStore, _ todo: Todo, _ file: URL) async throws {
  try await store.subscriptions.add(.container("trips/oslo"))
  try await store.sharing.share(todo, with: .users("ann", "ben"))
  let photo = try await store.blobs.add(contentsOf: file, contentType: "image/jpeg")
  try await store.update(todo) { $0.photo = photo }
  let data = try await store.blobs.data(for: photo)
  print(data.count)
}

// 19. Downloads and settings.
func downloads(_ cache: ResourceCache, _ url: URL) async throws {
  let menu = try await cache.value(Menu.self, at: url, maxAge: .seconds(3600))
  let offline = try await cache.data(at: url, policy: .local)
  try Reading.update { $0.fontSize = 19 }
  for await change in Reading.changes where change.changed(\.fontSize) { print(change.new.fontSize) }
  print(menu.dishes, offline.count, Reading.current.theme)
}

// 20. Errors.
func failing(_ store: SyncedStore) async {
  do { try await store.save(Todo(title: ""), policy: .remote) }
  catch let error as BothyError where error.code == .unreachable { print("offline") }
  catch { print(error) }
}
