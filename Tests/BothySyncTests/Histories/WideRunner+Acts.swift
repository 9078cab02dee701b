import BothyStore
import BothySync
import BothyTesting
import Foundation
import Synchronization

/// The acts of people.
extension WideRunner {
  func write(_ index: Int, _ acts: [WideHistory.Act], _ delivery: WriteGrouping) async throws {
    var files: [Blob?] = []
    for act in acts { files.append(try await Self.file(of: act, index, device(index).store, intent)) }
    try write(index, acts, files, delivery)
  }

  private func write(
    _ index: Int, _ acts: [WideHistory.Act], _ files: [Blob?], _ delivery: WriteGrouping
  ) throws {
    let intent = intent
    var deeds: [Int] = []
    try device(index).store.write(delivery) { transaction in
      for (act, file) in zip(acts, files) {
        if let deed = try Self.perform(act, file, index, transaction, intent) { deeds.append(deed) }
      }
    }
    for deed in deeds { intent.acknowledge(deed) }
    try Self.settleDeletions(deeds, index, device(index).store, intent)
  }

  /// Writes an act during an exchange.
  static func write(
    _ act: WideHistory.Act, _ index: Int, _ store: SyncedStore, _ intent: Intent
  ) async throws {
    let file = try await file(of: act, index, store, intent)
    try write(act, file, index, store, intent)
  }

  private static func write(
    _ act: WideHistory.Act, _ file: Blob?, _ index: Int, _ store: SyncedStore, _ intent: Intent
  ) throws {
    let deed: Int? = try store.store.write { try perform(act, file, index, $0, intent) }
    guard let deed else { return }
    intent.acknowledge(deed)
    try settleDeletions([deed], index, store, intent)
  }

  /// Stores the bytes of a file that an act attaches, before the record that names them. Returns `nil` for other acts.
  private static func file(
    of act: WideHistory.Act, _ index: Int, _ store: SyncedStore, _ intent: Intent
  ) async throws -> Blob? {
    guard act.what == .attach else { return nil }
    let text = intent.nextFile(index)
    let file = try await store.blobs.add(Data(text.utf8))
    intent.attached(text, as: file.sha256)
    return file
  }

  /// Ends the deletions of records that were created here and deleted before the server received them.
  private static func settleDeletions(
    _ deeds: [Int], _ index: Int, _ store: SyncedStore, _ intent: Intent
  ) throws {
    for number in deeds {
      let deed = intent.deed(number)
      guard deed.isDeletion, try !store.isPending(Sheet.record(deed.record)),
        !intent.hasReached(deed.record, from: index)
      else { continue }
      intent.end(number, "never sent")
    }
  }

  /// Performs the act in a transaction if it applies. Returns the deed's number, or `nil`.
  private static func perform(
    _ act: WideHistory.Act, _ file: Blob?, _ index: Int, _ transaction: WriteTransaction, _ intent: Intent
  ) throws -> Int? {
    let id = "r\(act.record)"
    let before = try transaction.fetch(Sheet.self, id: id)
    let container = try transaction.record(Sheet.record(id))?.container
    guard let (deed, after) = plan(act, file, index, before, container, intent) else { return nil }
    let number = intent.begin(deed)
    if deed.isDeletion || deed.isCreation && before != nil { try transaction.delete(Sheet.self, id: id) }
    if let after {
      if deed.isCreation {
        try transaction.insert(after, in: deed.container)
      } else if deed.texts.isEmpty, let place = deed.container {
        try transaction.move(Sheet.record(id), to: place)
      } else {
        try transaction.update(after)
      }
    }
    return number
  }

  /// Returns the deed of an act on the current record and the record after it, or `nil` if the act doesn't apply.
  private static func plan(
    _ act: WideHistory.Act, _ file: Blob?, _ index: Int, _ before: Sheet?, _ container: String?,
    _ intent: Intent
  ) -> (Intent.Deed, Sheet?)? {
    let id = "r\(act.record)"
    let place = WideHistory.places[act.place % WideHistory.places.count]
    var deed = Intent.Deed(number: 0, device: index, record: id, act: act, seen: before?.shown)
    var sheet = before ?? Sheet(id: id)
    func set(_ field: String) {
      let text = intent.nextText(field, index)
      sheet.values[field] = text
      deed.texts[field] = text
    }
    func attach() {
      guard let file else { return }
      sheet.file = file
      deed.texts["file"] = file.sha256
    }
    switch (act.what, before) {
    case (.delete, nil), (.move, nil), (.clear, nil), (.detach, nil): return nil
    case (.delete, _?):
      deed.isDeletion = true
      return (deed, nil)
    case (.move, _?):
      guard place != container else { return nil }
      (deed.container, deed.from) = (place, container)
    case (_, nil), (.remake, _?):
      sheet = Sheet(id: id)
      deed.isCreation = true
      deed.container = before == nil ? place : container
      set("title")
      set(Sheet.own(index))
      attach()
    case (.attach, _?): attach()
    case (.detach, let before?):
      guard before.file != nil else { return nil }
      sheet.file = nil
      deed.texts["file"] = ""
      set(Sheet.own(index))
    case (.create, _?), (.title, _?): set("title")
    case (.note, _?): set("note")
    case (.pen, _?): set("pen")
    case (.late, _?): set("late")
    case (.own, _?): set(Sheet.own(index))
    case (.clear, _?):
      sheet.values["note"] = nil
      if before?.values["note"] != nil { deed.texts["note"] = "" }
      set(Sheet.own(index))
    case (.count, _?):
      sheet.score += 1
      deed.counts = 1
      set(Sheet.own(index))
    }
    return (deed, sheet)
  }

  func draft(_ index: Int, _ act: WideHistory.Act) async throws {
    let intent = intent
    let store = device(index).store
    let before = intent.deedCount
    let file = try await Self.file(of: act, index, store, intent)
    let drafts = try await store.writeDraft { _ = try Self.perform(act, file, index, $0, intent) }
    for number in before..<intent.deedCount { intent.acknowledge(number) }
    try Self.settleDeletions(Array(before..<intent.deedCount), index, store, intent)
    if !drafts.isEmpty { count("draft") }
  }

  func release(_ index: Int) throws {
    let store = device(index).store
    let held = try store.outboxEntries().map(\.id).filter { try store.state(of: $0) == .draft }
    try store.release(held)
    if !held.isEmpty { count("release") }
  }

  /// Saves a whole value on the server first, as an app does, and acknowledges the deed when the call returns.
  func online(_ index: Int, _ act: WideHistory.Act, _ only: Bool) async throws {
    let store = device(index).store
    let id = "r\(act.record)"
    let before = try await store.store.fetch(Sheet.self, id: id)
    let container = try store.store.record(Sheet.record(id))?.container
    let file = try await Self.file(of: act, index, store, intent)
    guard act.what != .remake,
      let (deed, after) = Self.plan(act, file, index, before, container, intent)
    else { return }
    let number = intent.begin(deed)
    let options = RequestOptions(writePolicy: only ? .remote : .remoteThenLocal)
    count(only ? "onlineOnly" : "online")
    let wasPending = try store.isPending(Sheet.record(id))
    let receipt: SaveReceipt<AnyRecord>
    do {
      if deed.isDeletion {
        receipt = try await store.delete(Sheet.record(id), options: options)
      } else if deed.texts.isEmpty, let place = deed.container {
        receipt = try await store.move(Sheet.record(id), to: place, options: options)
      } else if let after {
        receipt = try await store.save(
          after, in: deed.isCreation ? deed.container : nil, options: options
        ).untyped
      } else {
        return
      }
    } catch let error as BothyError where wasPending && error.rejection != nil {
      // A change that was rejected with pending ones waits with them.
      if try store.isPending(Sheet.record(id)) { intent.acknowledge(number) }
      throw error
    }
    intent.acknowledge(number)
    intent.note("  receipt \(receipt.state)")
    if receipt.state == .synced { intent.answered(id, on: index) }
    try Self.settleDeletions([number], index, store, intent)
  }
}

extension Sheet {
  /// The judged fields that have a value; an empty title has none.
  var shown: [String: String] {
    var shown = values.filter { !$0.value.isEmpty }
    shown["file"] = file?.sha256
    return shown
  }
}

extension Intent {
  func deed(_ number: Int) -> Deed { state.withLock { $0.deeds[number] } }
  var deedCount: Int { state.withLock { $0.deeds.count } }
}
