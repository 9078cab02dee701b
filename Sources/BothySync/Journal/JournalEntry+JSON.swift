import BothyStore

/// A decision as JSON and as sentences, for tools that show it.
extension JournalEntry {
  /// The word for the outcome of the write.
  package var word: String {
    switch outcome {
    case .accepted: "accepted"
    case .merged: "merged"
    case .overwritten: "overwritten"
    case .rejected: isFinal ? "rejected" : "refused"
    case .withdrawn: "withdrawn"
    case .pending, .draft, .expired, .unknown: "unknown"
    }
  }

  /// The cause, in a sentence.
  package var sentence: String {
    switch cause {
    case .acknowledged: "The server took it."
    case .agreed: "The server had the same already."
    case .merge:
      isUndoneDeletion
        ? "Another device had changed it, so the deletion was undone."
        : isGone
          ? "Another device had deleted it."
          : "Another device had changed it too, and \(policy.map { "the policy \($0)" } ?? "the merge policy") decided."
    case .atomic: "It gave way with what it was written together with."
    case .rejectionPolicy: "The server refused it, so it was undone."
    case .refused: "It is still pending; the inbox has it."
    case .reverted: "It was undone by a decision."
    case .keptLocal: "It was kept here and not sent, by a decision."
    case .evicted: "The record was removed from this device, by a decision."
    case .orphaned: "Another device had deleted what it refers to."
    case .takenBack: "It was deleted here before the server heard of it."
    case .purged: "It was purged."
    case .otherHistory: "The server that was adopted has no such record."
    case .unsendable: "Nothing was left of it to send."
    case .online: "It was asked of the server at once."
    case .typeDropped: "The app no longer has the type."
    }
  }

  /// Writes `number, type, id, change, verdict, cause, policy, why, version, reason, decided, replaced, restored, restorable,
  /// lost, lostFields, container, gone`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("number", number)
    writer.members(record)
    writer.member("change", change.rawValue)
    writer.member("verdict", word)
    writer.member("cause", cause.name)
    writer.member("policy", policy)
    writer.member("why", sentence)
    writer.member("final", isFinal)
    switch outcome {
    case .accepted(let version), .merged(let version), .overwritten(let version):
      writer.member("version", version)
    case .rejected(let reason):
      writer.object("reason") { writer in
        writer.member("code", reason.code)
        writer.member("message", reason.message)
      }
    case .pending, .draft, .withdrawn, .expired, .unknown: break
    }
    writer.member("decided", decided)
    writer.member("replaced", replaced)
    writer.member("restored", restored)
    writer.member("restorable", isRestorable)
    writer.member("undoneDeletion", isUndoneDeletion)
    writer.member("gone", isGone)
    writer.member("container", lostContainer)
    writer.key("lost")
    if let lost { writer.raw(lost.bytes) } else { writer.null() }
    writer.list("lostFields", lostFields) { writer, field in
      writer.member("field", field.name)
      writer.member("base", field.base)
      writer.member("local", field.local)
      writer.member("now", field.now)
    }
  }
}
