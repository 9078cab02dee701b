import BothyCore
import BothyStore
import BothySyncService

/// The JSON of a call-out: a document with the writes to decide, in parts of limited size.
enum CalloutDocument {
  /// Divides the writes into parts, in order. A part has at most `count` writes and ends with the write at which its
  /// text reaches `bytes`.
  static func parts(_ writes: [ProposedWrite], count: Int, bytes: Int) -> [ArraySlice<ProposedWrite>] {
    var parts: [ArraySlice<ProposedWrite>] = []
    var (start, size) = (0, 0)
    for (index, write) in writes.enumerated() {
      size += Self.size(write)
      guard index + 1 - start >= count || size >= bytes || index + 1 == writes.count else { continue }
      parts.append(writes[start...index])
      (start, size) = (index + 1, 0)
    }
    return parts
  }

  /// Returns the approximate length of a write's text.
  private static func size(_ write: ProposedWrite) -> Int {
    let records = (write.before?.fields.bytes.count ?? 0) + (write.after?.fields.bytes.count ?? 0)
    // Most fields that are sent are in the record afterwards too.
    return 512 + records + (write.after?.fields.bytes.count ?? 0)
  }

  /// Returns `{"space","principal"?,"groups"?,"time","operations":[…]}`.
  static func text(_ proposal: WriteProposal, _ writes: ArraySlice<ProposedWrite>) -> [UInt8] {
    var writer = JSONWriter(reserving: 1024)
    writer.object { writer in
      writer.member("space", proposal.space)
      if let name = proposal.user.name { writer.member("principal", name) }
      if !proposal.user.groups.isEmpty { writer.names("groups", proposal.user.groups.sorted()) }
      writer.member("time", proposal.time)
      writer.list("operations", writes) { write($1, &$0) }
    }
    return writer.bytes
  }

  private static func write(_ write: ProposedWrite, _ writer: inout JSONWriter) {
    writer.member("id", write.operation)
    writer.member("kind", write.kind.rawValue)
    writer.member("type", write.record.type)
    writer.member("record", write.record.id)
    if let group = write.group { writer.member("group", group) }
    if write.kind != .delete {
      writer.key("fields")
      JSONValue.write(write.fields, to: &writer)
    }
    if !write.sensitiveFields.isEmpty { writer.names("sensitive", write.sensitiveFields.sorted()) }
    if let sharing = write.sharing {
      writer.key("sharing")
      sharing.write(to: &writer)
    }
    if let before = write.before { writer.object("before") { record(before, &$0) } }
    if let after = write.after { writer.object("after") { record(after, &$0) } }
  }

  private static func record(_ record: ServerRecord, _ writer: inout JSONWriter) {
    writer.member("container", record.container)
    if !record.version.isEmpty { writer.member("version", record.version) }
    writer.member("modified", record.modified)
    if let created = record.created { writer.member("created", created) }
    if let owner = record.owner { writer.member("owner", owner) }
    if !record.sharing.isEmpty {
      writer.key("sharing")
      record.sharing.write(to: &writer)
    }
    writer.key("fields")
    writer.raw(record.fields.bytes)
  }
}
