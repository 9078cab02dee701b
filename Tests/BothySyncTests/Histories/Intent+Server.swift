import BothyStore
import BothySync
import Synchronization

/// Checks of each change that the server makes, as it makes it.
extension Intent {
  /// Starts another history of the space, as after a restore. Devices may restore content that they have and the server
  /// lacks.
  func epochBegan() { state.withLock { $0.restorable = $0.reached } }

  /// The number of changes that the server has made.
  var versionCount: Int { state.withLock { $0.versions.count } }

  /// Checks the operations that the server has just carried out for a device.
  func follow(_ request: SyncRequest, _ response: SyncResponse, from device: Int) {
    let operations = Dictionary(request.operations.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    state.withLock { state in
      for outcome in response.outcomes {
        guard case .applied(let version, let modified, let record) = outcome.verdict,
          let operation = operations[outcome.operation]
        else { continue }
        state.take(operation, version, modified, record, from: device, policies[device])
      }
    }
  }
}

extension Intent.State {
  fileprivate mutating func take(
    _ operation: BothySync.SyncOperation, _ version: String, _ modified: Int64, _ whole: ServerRecord?,
    from device: Int, _ policy: WideHistory.Policy
  ) {
    let id = operation.record.id
    if !applied.insert(operation.id).inserted { problems.append("Done twice: an operation on \(id).") }
    let before = server[id] ?? nil
    let wasThere = server.keys.contains(id)
    var after = operation.kind == .update ? before ?? [:] : [:]
    for (name, value) in operation.fields { after[name] = value.isNull ? nil : value }
    if let whole, let members = try? whole.fields.members() { after = members }
    note(
      "  server v\(version): \(operation.kind.rawValue) of \(id) from \(device) \(JSONValue.object(operation.fields).canonicalText)"
        + (operation.container.map { " in \($0)" } ?? ""))
    if operation.kind == .delete {
      if let before { judgeDeletion(of: id, before, device, policy) }
      server[id] = .some(nil)
    } else {
      judge(operation, before, after, device, policy)
      if before == nil && wasThere { judgeReturn(of: id, after, operation, device) }
      server[id] = after
    }
    reach(operation, before, after, device)
    versions.append(
      ServerRecord(
        id: operation.record, container: containers[id], version: version, modified: modified,
        isDeleted: operation.kind == .delete,
        fields: operation.kind == .delete ? .empty : FieldsDocument(after)))
  }

  /// Marks the device's deeds that are on the server now.
  private mutating func reach(
    _ operation: BothySync.SyncOperation, _ before: [String: JSONValue]?, _ after: [String: JSONValue],
    _ device: Int
  ) {
    let id = operation.record.id
    if let container = operation.container ?? (before == nil ? operation.record.type : nil) {
      containers[id] = container
      places[id, default: []].append((container, deeds.count))
    }
    for name in Sheet.judged where operation.kind != .delete {
      if let text = after[name]?.judged { reached.insert(text) } else { cleared.insert("\(id) \(name)") }
    }
    for index in deeds.indices where deeds[index].record == id && deeds[index].device == device {
      let deed = deeds[index]
      if operation.kind == .delete {
        if deed.isDeletion { deeds[index].isReached = true }
      } else if !deed.isDeletion, !deed.texts.isEmpty {
        let isThere = deed.texts.allSatisfy { after[$0.key]?.judged ?? "" == $0.value }
        if isThere { deeds[index].isReached = true }
      } else if deed.container != nil, deed.container == containers[id] {
        deeds[index].isReached = true
      }
    }
  }

  // MARK: verdicts

  /// Checks that each changed text was written on this device, only once, and in sight of the replaced text.
  private mutating func judge(
    _ operation: BothySync.SyncOperation, _ before: [String: JSONValue]?, _ after: [String: JSONValue],
    _ device: Int,
    _ policy: WideHistory.Policy
  ) {
    let id = operation.record.id
    if undone.contains("\(device) \(id)") { return }
    for name in Sheet.judged {
      let old = before?[name]?.judged
      let new = after[name]?.judged
      guard old != new else { continue }
      let change = "\(id).\(name) \(old ?? "nothing") → \(new ?? "nothing") by \(device) [\(policy.rawValue)]"
      // A new record on the server has the text anyway.
      let isKnown = before != nil
      if let new, isKnown, let number = restored.removeValue(forKey: "\(device) \(id) \(name) \(new)") {
        if !policy.mayReplace(name), !chain(of: name, from: number).contains(old ?? "") {
          problems.append("Restored over unseen: \(change)")
        }
      } else if let new, let number = author[new] {
        if deeds[number].device != device && !policy.mayReplaceAll && before != nil {
          problems.append("Another device's text came back: \(change)")
        } else if reached.contains(new) && !policy.mayReplaceAll && before != nil,
          old != nil || restorable.remove(new) == nil
        {
          problems.append("An old text came back: \(change)")
        } else if before != nil, !policy.mayReplace(name), !chain(of: name, from: number).contains(old ?? "")
        {
          problems.append("Written over unseen: \(change)")
        }
      } else if let new {
        problems.append("Nobody wrote \(new): \(change)")
      } else if !policy.mayReplace(name), !deeds.contains(where: { clears($0, name, id, device, old ?? "") })
      {
        problems.append("Cleared by nobody who saw it: \(change)")
      }
    }
    if before != nil, let container = operation.container, container != containers[id], !policy.mayReplaceAll,
      !deeds.contains(where: { $0.device == device && $0.record == id && $0.container == container })
    {
      problems.append("Moved by nobody: \(id) to \(container) by \(device)")
    }
  }

  private func clears(_ deed: Intent.Deed, _ name: String, _ id: String, _ device: Int, _ old: String) -> Bool
  {
    guard deed.record == id, deed.device == device else { return false }
    // A recreated record has only the texts of its creation.
    guard deed.texts[name] == "" || deed.isCreation else { return false }
    return chain(of: name, from: deed.number).contains(old)
  }

  /// Returns the texts that the writer of a text saw in its place, with those written there before on the same device.
  /// An empty text means that the field had no value. The device's own earlier texts count even if they weren't seen, and
  /// so does what the server returned for an earlier save.
  func chain(of field: String, from number: Int) -> Set<String> {
    let first = deeds[number]
    let answers = answers["\(first.device) \(first.record)"] ?? []
    var found = Set(answers.filter { $0.deeds <= number }.map { $0.texts[field] ?? "" })
    var isOpen = true
    for deed in deeds[...number].reversed() where deed.device == first.device && deed.record == first.record {
      guard isOpen else { break }
      guard deed.texts[field] != nil || deed.isDeletion || deed.isCreation else { continue }
      let seen = deed.seen?[field] ?? ""
      found.insert(seen)
      if deed.number != number, let text = deed.texts[field] { found.insert(text) }
      isOpen = seen.isEmpty || author[seen].map { deeds[$0].device == first.device } ?? false
    }
    return found
  }

  private mutating func judgeDeletion(
    of id: String, _ before: [String: JSONValue], _ device: Int, _ policy: WideHistory.Policy
  ) {
    if undone.contains("\(device) \(id)") { return }
    let deletions = deeds.filter { $0.device == device && $0.record == id && $0.isDeletion }
    if deletions.isEmpty { problems.append("Deleted by nobody: \(id) by \(device)") }
    guard !policy.mayReplaceAll, policy != .changedFields else { return }
    let isSeen = deletions.contains { deletion in
      Sheet.judged.allSatisfy { name in
        let text = before[name]?.judged
        return text.map { chain(of: name, from: deletion.number).contains($0) } ?? true
      }
    }
    if !isSeen {
      problems.append("Deleted unseen: \(JSONValue.object(before).canonicalText) of \(id) by \(device)")
    }
  }

  /// Checks that a deleted record returns only with new content, or because its deletion was undone in doubt.
  private mutating func judgeReturn(
    of id: String, _ after: [String: JSONValue], _ operation: BothySync.SyncOperation, _ device: Int
  ) {
    if undone.contains("\(device) \(id)") { return }
    let isNew = Sheet.judged.contains { name in
      after[name]?.judged.map { author[$0].map { deeds[$0].device } == device && !reached.contains($0) }
        ?? false
    }
    let isOpen = deeds.contains {
      $0.device == device && $0.record == id && !$0.isReached && !$0.isDeletion && $0.end == nil
    }
    if !isNew && !isOpen {
      problems.append("Came back by itself: \(id) by \(device) \(JSONValue.object(after).canonicalText)")
    }
  }
}
