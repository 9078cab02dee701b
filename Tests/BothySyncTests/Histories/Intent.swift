import BothyStore
import BothySync
import Synchronization

/// What people meant, and what became of it: the judge of a wide history.
///
/// Every text that is written is unlike every other, so each can be followed: it reached the server, or somebody
/// on the same device wrote over it before it did, or the journal has it, or a person's decision ended it. And each
/// change on the server must be what a person did on the device that sent it, in sight of what it replaced, or
/// what the device's merge policy may do.
final class Intent: Sendable {
  /// What a person did to one record on one device, in one transaction.
  struct Deed: Sendable {
    var number: Int
    var device: Int
    var record: String
    var act: WideHistory.Act
    /// The texts that it set; an empty one for a field that it cleared.
    var texts: [String: String] = [:]
    /// The record as it was shown before; nil when there was none.
    var seen: [String: String]?
    var isCreation = false
    var isDeletion = false
    var container: String?
    /// Where the record was shown before.
    var from: String?
    var counts = 0
    /// Whether the store said that it is kept, or the server that it is done.
    var isAcknowledged = false
    /// Why nothing is owed any more: the journal or a decision ended it.
    var end: String?
    /// Whether the server has carried it out.
    var isReached = false
  }

  struct State: Sendable {
    var deeds: [Deed] = []
    /// The deed that wrote a text.
    var author: [String: Int] = [:]
    /// The texts that the server has had, and what it has now; nil after a deletion.
    var reached: Set<String> = []
    var server: [String: [String: JSONValue]?] = [:]
    /// The texts that the server had when its history began anew: their writer may give each back once.
    var restorable: Set<String> = []
    var containers: [String: String] = [:]
    /// What was cleared, and where each record came to be on the server, after how many deeds.
    var cleared: Set<String> = []
    var places: [String: [(container: String, deeds: Int)]] = [:]
    /// The texts that a journal told their writer of, and the clearings.
    var told: Set<String> = []
    var applied: Set<String> = []
    /// All that the server ever had, for changes that reach a device late.
    var versions: [ServerRecord] = []
    var problems: [String] = []
    var log: [String] = []
  }

  let state = Mutex(State())
  let policies: [WideHistory.Policy]

  init(_ history: WideHistory) { policies = history.devices.map(\.policy) }

  var problems: [String] { state.withLock { $0.problems } }
  var log: [String] { state.withLock { $0.log } }

  func note(_ line: String) { state.withLock { $0.log.append(line) } }
  func complain(_ line: String) { state.withLock { $0.problems.append(line) } }

  // MARK: deeds

  /// Gives the deed its number before it is tried: a kill may leave it done and untold.
  func begin(_ deed: Deed) -> Int {
    state.withLock { state in
      var deed = deed
      deed.number = state.deeds.count
      for text in deed.texts.values where !text.isEmpty { state.author[text] = deed.number }
      state.deeds.append(deed)
      return deed.number
    }
  }

  func nextText(_ field: String, _ device: Int) -> String {
    state.withLock { "\(field)-\(device)-\($0.deeds.count)" }
  }

  func acknowledge(_ number: Int) {
    state.withLock { state in
      state.deeds[number].isAcknowledged = true
      state.log.append("  done: \(state.deeds[number].summary)")
    }
  }

  func end(_ number: Int, _ why: String) { state.withLock { $0.deeds[number].end = why } }

  /// Whether the server has carried out anything that the device did to this record since it last made it where it knew
  /// of none.
  func hasReached(_ record: String, from device: Int) -> Bool {
    state.withLock { state in
      let own = state.deeds.filter { $0.record == record && $0.device == device }
      let made = own.lastIndex { $0.isCreation && $0.seen == nil } ?? own.startIndex
      return own[made...].contains(where: \.isReached)
    }
  }

  /// A person decided on this device that what is pending of the record goes.
  func decided(_ record: String, on device: Int, _ why: String) {
    state.withLock { $0.end(record, device, why) { _ in true } }
  }

  // MARK: what is told

  /// What the file's journal tells as replaced, refused or undone is not lost in silence: what was written here and
  /// is in it. Nothing else counts: reports are kept in memory.
  func hear(_ entry: JournalEntry, _ device: Int) {
    let id = entry.record.id
    let fields = entry.lost.flatMap { try? $0.members() }
    state.withLock { state in
      // There is nothing to delete where the server never had it, or has it no more.
      if entry.outcome == .accepted(version: "") || entry.cause == .takenBack {
        state.end(id, device, "told") { $0.isDeletion }
      }
      if entry.isUndoneDeletion { state.end(id, device, "told") { $0.isDeletion } }
      guard entry.isLoss else { return }
      state.log.append("  told \(device): \(id) \(entry.outcome) \(entry.lost?.text ?? "its deletion")")
      state.hear(id, fields, device)
    }
  }

  func hear(_ report: SyncReport, _ device: Int) {
    for failure in report.failures {
      note("  refused \(device): \(failure.record.id) \(failure.code)")
    }
    if let reason = report.skipped { note("  skipped \(device): \(reason)") }
  }

  // MARK: the end

  /// What was acknowledged and is nowhere; `isPending` says what a device still holds back.
  func lost(isPending: (Int, String) -> Bool) -> [String] {
    let state = state.withLock { $0 }
    return state.problems
      + state.deeds.filter(\.isOpen).flatMap { deed -> [String] in
        guard deed.isAcknowledged, !isPending(deed.device, deed.record) else { return [] }
        return state.missing(of: deed).map { "Lost in silence: \($0) of \(deed.summary)" }
      } + state.miscounts(policies)
  }
}

extension Intent.Deed {
  var isOpen: Bool { end == nil && !isReached }

  func isOpen(_ record: String, _ device: Int) -> Bool {
    isOpen && self.record == record && self.device == device
  }

  var summary: String {
    let what = texts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    return "\(act.what.rawValue) of \(record) on \(device) [\(what)]" + (container.map { " in \($0)" } ?? "")
  }
}

extension Intent.State {
  mutating func end(_ record: String, _ device: Int, _ why: String, where holds: (Intent.Deed) -> Bool) {
    for index in deeds.indices where deeds[index].isOpen(record, device) && holds(deeds[index]) {
      deeds[index].end = why
    }
  }

  /// Takes what the journal told as lost: the record as it was on the device, none for a deletion.
  mutating func hear(_ record: String, _ fields: [String: JSONValue]?, _ device: Int) {
    for text in (fields ?? [:]).values {
      if let text = text.stringValue, author[text].map({ deeds[$0].device }) == device { told.insert(text) }
    }
    for index in deeds.indices where deeds[index].isOpen(record, device) {
      let deed = deeds[index]
      if deed.isDeletion ? fields == nil : deed.texts.isEmpty { deeds[index].end = "told" }
      for (name, text) in deed.texts where text.isEmpty && (fields?[name] ?? .null).isNull {
        told.insert("\(deed.number) \(name)")
      }
    }
  }

  /// The parts of an acknowledged deed that are neither on the server, nor written over on the same device.
  func missing(of deed: Intent.Deed) -> [String] {
    let later = deeds.dropFirst(deed.number + 1).filter {
      $0.record == deed.record && $0.device == deed.device
        && ($0.isAcknowledged || $0.isReached || $0.texts.values.contains(where: told.contains))
    }
    if later.contains(where: { $0.isDeletion || $0.isCreation }) { return [] }
    if deed.isDeletion {
      let isThere = server[deed.record].flatMap { $0 } != nil
      return isThere ? ["the deletion"] : []
    }
    var missing: [String] = []
    for (field, text) in deed.texts {
      let isReplaced = later.contains { $0.texts[field] != nil }
      if isReplaced || reached.contains(text) || told.contains(text) { continue }
      if text.isEmpty, isCleared(field, of: deed.record) || told.contains("\(deed.number) \(field)") {
        continue
      }
      missing.append(text.isEmpty ? "the clearing of \(field)" : text)
    }
    if let container = deed.container, !deed.isCreation, !later.contains(where: { $0.container != nil }),
      !wasIn(container, deed), !isBack(deed),
      server[deed.record].flatMap({ $0 }) != nil
    {
      missing.append("the move")
    }
    return missing
  }

  /// Whether the record was where a deed moved it to when that was done, or came there later.
  private func wasIn(_ container: String, _ deed: Intent.Deed) -> Bool {
    let places = places[deed.record] ?? []
    return places.last { $0.deeds <= deed.number }?.container == container
      || places.contains { $0.deeds > deed.number && $0.container == container }
  }

  /// Whether a move ends where the record was before one that no server has heard of: there and back is no change.
  private func isBack(_ deed: Intent.Deed) -> Bool {
    deeds[..<deed.number].contains {
      $0.record == deed.record && $0.device == deed.device && $0.container != nil && !$0.isReached
        && $0.from == deed.container
    }
  }

  private func isCleared(_ field: String, of record: String) -> Bool {
    cleared.contains("\(record) \(field)") || (server[record].flatMap { $0 }?[field] ?? .null).isNull
  }

  /// Counts of records of which no part was deleted, decided about or given up: each counts once.
  func miscounts(_ policies: [WideHistory.Policy]) -> [String] {
    guard policies.allSatisfy(\.isByField) else { return [] }
    var problems: [String] = []
    for (record, fields) in server {
      let own = deeds.filter { $0.record == record }
      let isClear = own.allSatisfy { deed in
        deed.isAcknowledged && deed.end == nil && !deed.isDeletion && !(deed.isCreation && deed.seen != nil)
          && deed.texts.values.allSatisfy { !told.contains($0) || reached.contains($0) }
      }
      guard let fields, isClear else { continue }
      let sum = own.reduce(0) { $0 + $1.counts }
      if fields["score"] != .int(Int64(sum)) {
        problems.append("\(record) was counted up \(sum) times and stands at \(fields["score"] ?? .null)")
      }
    }
    return problems
  }
}
