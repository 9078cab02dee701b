package import BothyProtocol
package import BothyStore

/// The server's record after a write, or `nil` in place of the record after a deletion.
struct ServerAnswer: Sendable {
  var record: AnyRecord?
  var sharing = Audience.nobody

  /// Reads the server's version. Returns `nil` if this version of the app can't read it.
  init?(_ answer: ServerRecord, _ table: TypeTable) {
    guard !answer.isDeleted else { return }
    var isRepaired = false
    guard case .success(let row) = UnreadableTable.read(answer, table, repaired: &isRepaired) else {
      return nil
    }
    record = AnyRecord(id: answer.id.id, row, table)
    sharing = answer.sharing
  }
}

extension SaveReceipt {
  /// The server's record and its audience, after a write that isn't stored here. Otherwise `nil`.
  package var made: (record: AnyRecord, sharing: Audience)? {
    answer.flatMap { answer in answer.record.map { ($0, answer.sharing) } }
  }
}
