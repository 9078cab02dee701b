import BothyStore
import BothySync
import Synchronization

/// The judge of a wide history, with the changes that people intended and the results.
///
/// Each written text differs from all others, so each can be followed. It reached the server, a later write on the same
/// device replaced it before that, the journal has it, or a person's decision ended it. Each change on the server must
/// be one that a person made on the device that sent it, after seeing what it replaced, or one that the device's merge
/// policy permits.
final class Intent: Sendable {
  /// One change by a person to one record on one device, in one transaction.
  struct Deed: Sendable {
    var number: Int
    var device: Int
    var record: String
    var act: WideHistory.Act
    /// The texts that it set, with an empty one for a field that it cleared.
    var texts: [String: String] = [:]
    /// The record as it was shown before, or `nil` if it didn't exist.
    var seen: [String: String]?
    var isCreation = false
    var isDeletion = false
    var container: String?
    /// The container in which the record was shown before.
    var from: String?
    var counts = 0
    /// True if the person took content back that the journal had as lost.
    var isRestore = false
    /// True if the store confirmed that it keeps the change, or the server that it made it.
    var isAcknowledged = false
    /// The entry of the journal or the decision that ended the change, so that no result is required.
    var end: String?
    /// True if the server has carried it out.
    var isReached = false
  }

  struct State: Sendable {
    var deeds: [Deed] = []
    /// The deed that wrote each text.
    var author: [String: Int] = [:]
    /// The texts that the server has had. Its current fields are in `server`, with `nil` after a deletion.
    var reached: Set<String> = []
    var server: [String: [String: JSONValue]?] = [:]
    /// The texts that the server had when its history started again. The writer of each may restore it once.
    var restorable: Set<String> = []
    /// The devices with the records of which they reverted changes in doubt. Those are undone on the server too.
    var undone: Set<String> = []
    var containers: [String: String] = [:]
    /// What the server had of a record when it answered a save there, by device and record, with the number of deeds
    /// before. The receipt shows it, whatever the device stores.
    var answers: [String: [(texts: [String: String], deeds: Int)]] = [:]
    /// The fields that were cleared. The containers of each record on the server are in `places`, with the number of
    /// deeds before each.
    var cleared: Set<String> = []
    var places: [String: [(container: String, deeds: Int)]] = [:]
    /// The texts, and the clearings, that a journal reported to their writer.
    var reported: Set<String> = []
    /// The restored texts that the server has yet to receive, by device, record, field and text, with their deeds.
    var restored: [String: Int] = [:]
    var applied: Set<String> = []
    /// All versions that the server ever had, for changes that reach a device late.
    var versions: [ServerRecord] = []
    /// The bytes that people attached, as texts by their checksums.
    var files: [String: String] = [:]
    var fileCount = 0
    var problems: [String] = []
    var log: [String] = []
    var isLogged = true
  }

  let state = Mutex(State())
  let policies: [WideHistory.Policy]

  /// - Parameter isLogged: false to keep no log, which costs more than the evaluation.
  init(_ history: WideHistory, isLogged: Bool = true) {
    policies = history.devices.map(\.policy)
    state.withLock { $0.isLogged = isLogged }
  }

  var problems: [String] { state.withLock { $0.problems } }
  var log: [String] { state.withLock { $0.log } }

  func note(_ line: @autoclosure () -> String) {
    guard state.withLock({ $0.isLogged }) else { return }
    let line = line()
    state.withLock { $0.log.append(line) }
  }
  func complain(_ line: String) { state.withLock { $0.problems.append(line) } }

  // MARK: deeds

  /// Numbers the deed before it is tried, since a kill may leave it done but unconfirmed. Returns the number.
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

  /// Returns the text of the next file, which differs from all others.
  func nextFile(_ device: Int) -> String {
    state.withLock { state in
      state.fileCount += 1
      return "bytes \(state.fileCount) of device \(device)"
    }
  }

  /// Notes the text that was stored under a checksum.
  func attached(_ text: String, as sha256: String) { state.withLock { $0.files[sha256] = text } }

  /// Returns the text that was stored under a checksum, or `nil` if no person stored it.
  func bytes(of sha256: String) -> String? { state.withLock { $0.files[sha256] } }

  var hasFiles: Bool { state.withLock { !$0.files.isEmpty } }

  func acknowledge(_ number: Int) {
    state.withLock { state in
      state.deeds[number].isAcknowledged = true
      let deed = state.deeds[number]
      state.note("  done: \(deed.summary)")
    }
  }

  func end(_ number: Int, _ why: String) { state.withLock { $0.deeds[number].end = why } }

  /// True if the server has carried out any of the device's deeds on this record since the device last created it as
  /// unknown.
  func hasReached(_ record: String, from device: Int) -> Bool {
    state.withLock { state in
      let own = state.deeds.filter { $0.record == record && $0.device == device }
      let made = own.lastIndex { $0.isCreation && $0.seen == nil } ?? own.startIndex
      return own[made...].contains(where: \.isReached)
    }
  }

  /// Ends the open deeds on a record, because a person on this device discarded its pending changes.
  func decided(_ record: String, on device: Int, _ why: String) {
    state.withLock { $0.end(record, device, why) { _ in true } }
  }

  /// Notes the result of a restore of a record, as a deed that has to reach the server or to be told again.
  func restored(_ record: String, on device: Int, from before: AnyRecord?, to after: AnyRecord?) {
    state.withLock { state in
      var deed = Deed(
        number: state.deeds.count, device: device, record: record, act: .init(what: .own, record: 0))
      deed.seen = before?.texts
      (deed.isCreation, deed.isDeletion) = (before == nil && after != nil, after == nil)
      deed.isRestore = true
      deed.isAcknowledged = true
      let (old, new) = (before?.texts ?? [:], after?.texts ?? [:])
      for name in Sheet.judged where old[name] != new[name] { deed.texts[name] = new[name] ?? "" }
      if let place = after?.container, place != before?.container {
        (deed.container, deed.from) = (place, before?.container)
      }
      for (name, text) in deed.texts where !text.isEmpty {
        state.reported.remove(text)
        state.restored["\(device) \(record) \(name) \(text)"] = deed.number
      }
      state.deeds.append(deed)
      state.note("  restored: \(deed.summary)")
    }
  }

  /// Expects a device to undo on the server what it reverted in doubt.
  func undoes(_ record: String, on device: Int) {
    state.withLock { _ = $0.undone.insert("\(device) \(record)") }
  }

  /// Notes that the server's record was returned to the person who saved it there.
  func answered(_ record: String, on device: Int) {
    state.withLock { state in
      let fields = state.server[record].flatMap { $0 } ?? [:]
      state.answers["\(device) \(record)", default: []].append(
        (fields.compactMapValues(\.judged), state.deeds.count))
    }
  }

  // MARK: reports

  /// Marks deeds as reported if the journal has their content as replaced, rejected or undone. Other reports don't
  /// count, since they are kept in memory.
  func hear(_ entry: JournalEntry, _ device: Int) {
    let id = entry.record.id
    let fields = entry.lost.flatMap { try? $0.members() }
    state.withLock { state in
      // A deletion has no effect if the server never had the record, or no longer has it.
      if entry.outcome == .accepted(version: "") || entry.cause == .takenBack {
        state.end(id, device, "told") { $0.isDeletion }
      }
      if entry.isUndoneDeletion { state.end(id, device, "told") { $0.isDeletion } }
      guard entry.isLoss else { return }
      state.note("  told \(device): \(id) \(entry.outcome) \(entry.lost?.text ?? "its deletion")")
      state.hear(id, fields, device, from: entry.lostContainer)
    }
  }

  func hear(_ report: SyncReport, _ device: Int) {
    for failure in report.rejected {
      note("  refused \(device): \(failure.record.id) \(failure.code)")
    }
    if let reason = report.stop { note("  skipped \(device): \(reason)") }
  }

  // MARK: the end

  /// Returns the acknowledged work that has vanished. `isPending` is true for records that a device still holds back.
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
  /// Appends a line to the log. The line must not name the state itself.
  mutating func note(_ line: @autoclosure () -> String) {
    if isLogged { log.append(line()) }
  }

  mutating func end(_ record: String, _ device: Int, _ why: String, where holds: (Intent.Deed) -> Bool) {
    for index in deeds.indices where deeds[index].isOpen(record, device) && holds(deeds[index]) {
      deeds[index].end = why
    }
  }

  /// Marks the content that the journal reported as lost. `fields` has the record on the device, or is `nil` for a
  /// deletion.
  ///
  /// - Parameter place: the container that was lost, if one was.
  mutating func hear(_ record: String, _ fields: [String: JSONValue]?, _ device: Int, from place: String?) {
    for text in (fields ?? [:]).values {
      guard let text = text.judged else { continue }
      let isOwn = deeds.contains {
        $0.device == device && $0.record == record && $0.texts.values.contains(text)
      }
      if isOwn { reported.insert(text) }
    }
    for index in deeds.indices where deeds[index].isOpen(record, device) {
      let deed = deeds[index]
      if deed.isDeletion ? fields == nil : deed.texts.isEmpty { deeds[index].end = "told" }
      // A restore takes back texts and a move at once.
      if deed.isRestore && deed.container == place { deeds[index].container = nil }
      for (name, text) in deed.texts where text.isEmpty && (fields?[name] ?? .null).isNull {
        reported.insert("\(deed.number) \(name)")
      }
    }
  }

  /// Returns the parts of an acknowledged deed that are neither on the server nor overwritten on the same device.
  func missing(of deed: Intent.Deed) -> [String] {
    let later = deeds.dropFirst(deed.number + 1).filter {
      $0.record == deed.record && $0.device == deed.device
        && ($0.isAcknowledged || $0.isReached || $0.texts.values.contains(where: reported.contains))
    }
    if later.contains(where: { $0.isDeletion || $0.isCreation }) { return [] }
    if deed.isDeletion {
      let isThere = server[deed.record].flatMap { $0 } != nil
      return isThere ? ["the deletion"] : []
    }
    var missing: [String] = []
    for (field, text) in deed.texts {
      let isReplaced = later.contains { $0.texts[field] != nil }
      if isReplaced || reached.contains(text) || reported.contains(text) { continue }
      if text.isEmpty, isCleared(field, of: deed.record) || reported.contains("\(deed.number) \(field)") {
        continue
      }
      // The server never had what the person saw there, so another's text isn't what they cleared.
      if text.isEmpty, chain(of: field, from: deed.number).isDisjoint(with: reached) { continue }
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

  /// True if the record was in the container of a move when the deed was done, or arrived there later.
  private func wasIn(_ container: String, _ deed: Intent.Deed) -> Bool {
    let places = places[deed.record] ?? []
    return places.last { $0.deeds <= deed.number }?.container == container
      || places.contains { $0.deeds > deed.number && $0.container == container }
  }

  /// True if a move returns the record to its container before a move that the server never received, or before a local
  /// creation over an online save of the device, which counts as a change of that save.
  private func isBack(_ deed: Intent.Deed) -> Bool {
    let before = deeds[..<deed.number].filter {
      $0.record == deed.record && $0.device == deed.device && $0.container != nil
    }
    if before.contains(where: { !$0.isReached && $0.from == deed.container }) { return true }
    return before.last?.isCreation == true
      && before.dropLast().contains { $0.isReached && $0.container == deed.container }
  }

  private func isCleared(_ field: String, of record: String) -> Bool {
    cleared.contains("\(record) \(field)") || (server[record].flatMap { $0 }?[field] ?? .null).isNull
  }

  /// Returns the wrong counts of records without a deletion, a decision or a loss. Each deed counts once.
  func miscounts(_ policies: [WideHistory.Policy]) -> [String] {
    guard policies.allSatisfy(\.isByField) else { return [] }
    var problems: [String] = []
    for (record, fields) in server {
      let own = deeds.filter { $0.record == record }
      let isClear = own.allSatisfy { deed in
        deed.isAcknowledged && deed.end == nil && !deed.isDeletion && !deed.isRestore
          && !(deed.isCreation && deed.seen != nil)
          && deed.texts.values.allSatisfy { !reported.contains($0) || reached.contains($0) }
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

extension AnyRecord {
  /// The judged fields of a sheet that have a value.
  fileprivate var texts: [String: String] {
    fields.compactMapValues { $0.text ?? $0.blob?.sha256 }.filter { !$0.value.isEmpty }
  }
}
