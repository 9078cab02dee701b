import BothyStore
import BothySync

/// The edits of both devices to some places while they are offline.
struct OfflineEdits: Sendable {
  let places: [AnyRecord]

  private var disjoint: AnyRecord { places[0] }
  private var sameField: AnyRecord { places[1] }
  private var bothNotes: AnyRecord { places[2] }
  private var deletedAndEdited: AnyRecord { places[3] }
  private var reborn: AnyRecord { places[4] }
  private var deleted: AnyRecord { places[5] }

  /// Throws if fewer than six places exist.
  init(places: [AnyRecord]) throws {
    guard places.count == 6 else {
      throw ToolError("The demo needs six places with ids of their own; the file has \(places.count).")
    }
    self.places = places
  }

  /// Makes the edits, and prints the number of pending changes.
  func make(_ a: DemoDevice, _ b: DemoDevice, _ narrator: ProgressPrinter) async throws -> OfflineEdits {
    _ = try await narrator.step("A edits") {
      try await a.edit(disjoint.id, ["name": "Renamed by A"])
      try await a.edit(sameField.id, ["name": "A's name"])
      try await a.edit(bothNotes.id, ["note": "A: step-free", "visits": 2])
      try await a.delete(deletedAndEdited.id)
      try await a.delete(deleted.id)
      try await a.edit("demo-a", ["name": "Made by A", "feature_type": "tourism"])
      return try a.store.pendingCounts()
    } tell: {
      Self.text($0)
    }
    let moment = a.store.clock.correctedNow()
    while b.store.clock.correctedNow() <= moment { await Task.yield() }
    _ = try await narrator.step("B edits") {
      try await b.edit(disjoint.id, ["note": "Noted by B"])
      try await b.edit(sameField.id, ["name": "B's name, later"])
      try await b.edit(bothNotes.id, ["note": "B: open at night", "visits": 3])
      try await b.edit(deletedAndEdited.id, ["note": "B still needs this"])
      try await b.delete(reborn.id)
      try await b.edit(reborn.id, ["name": "Made again by B", "feature_type": "tourism"])
      try await b.edit("demo-b", ["name": "Made by B", "feature_type": "tourism"])
      return try b.store.pendingCounts()
    } tell: {
      Self.text($0)
    }
    return self
  }

  private static func text(_ counts: Outbox.Counts) -> String {
    "pending now: \(counts.insert) new, \(counts.update) changed, \(counts.delete) deleted"
  }

  /// Prints the result of each conflict on both devices.
  func tellMerges(_ a: DemoDevice, _ b: DemoDevice, _ narrator: ProgressPrinter) throws {
    try narrator.chapter("4. How the conflicts were merged")
    var table = TextTable(["what happened", "A sees", "B sees"])
    func row(_ what: String, _ id: String, _ fields: String...) throws {
      table.add([what, Self.seen(try a.place(id), fields), Self.seen(try b.place(id), fields)])
    }
    try row("A changed the name, B the note", disjoint.id, "name", "note")
    try row("both changed the name: the later edit", sameField.id, "name")
    try row("both wrote a note and counted visits", bothNotes.id, "note", "visits")
    try row("A deleted, B edited: the edit stays", deletedAndEdited.id, "note")
    try row("B deleted it and made it again", reborn.id, "name")
    try row("A deleted it", deleted.id, "name")
    try row("A made a new place", "demo-a", "name")
    try row("B made a new place", "demo-b", "name")
    let text = table.text(empty: "")
    try narrator.say(text.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))
  }

  private static func seen(_ record: AnyRecord?, _ fields: [String]) -> String {
    guard let record else { return "(deleted)" }
    return fields.map { record[$0].shown }.joined(separator: " | ")
  }
}
