import BothyCore
import BothyStore
import BothySyncService

/// Reads the answer of a back end, strictly: an answer with anything else than one decision for each write is useless.
enum CalloutAnswer {
  /// Returns the decisions in the order of the writes. Throws `CalloutOutage`.
  static func decisions(
    _ body: [UInt8], on writes: ArraySlice<ProposedWrite>
  ) throws(CalloutOutage) -> [WriteDecision] {
    let entries = try CalloutOutage.reading { try read(body) }
    let found = Dictionary(entries.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    guard found.count == entries.count else { throw .answer("it decides an operation twice") }
    guard entries.count <= writes.count else { throw .answer("it decides operations that were not asked") }
    var decisions: [WriteDecision] = []
    for write in writes {
      guard let entry = found[write.operation] else { throw .answer("it leaves out an operation") }
      guard let decision = entry.decision else {
        throw .answer("a decision has no known word, or members that don't belong to it")
      }
      if let problem = decision.problem(with: write) { throw .answer(problem) }
      decisions.append(decision)
    }
    return decisions
  }

  /// Reads `{"decisions":[{"id","decision","set"?,"replace"?,"code"?,"message"?,"fields"?}]}`.
  private static func read(_ body: [UInt8]) throws -> [Entry] {
    var entries: [Entry]?
    try JSONReader.read(body) { reader in
      try reader.object { name, reader in
        guard name == "decisions", entries == nil else { throw unknown(reader) }
        var list: [Entry] = []
        try reader.array { list.append(try Entry(from: &$0)) }
        entries = list
      }
    }
    guard let entries else { throw JSONError(reason: "'decisions' is missing", offset: body.count) }
    return entries
  }

  private static func unknown(_ reader: JSONReader) -> JSONError {
    JSONError(reason: "there is an unknown member, or one twice", offset: reader.offset)
  }

  /// One decision as it was sent.
  private struct Entry {
    var id = ""
    var word = ""
    var set: [String: JSONValue]?
    var replace: [String: JSONValue]?
    var code: String?
    var message: String?
    var fields: [Rejection.FieldError]?

    init(from reader: inout JSONReader) throws {
      var entry = self
      var names: Set<String> = []
      try reader.object { name, reader in
        guard names.insert(name).inserted else { throw CalloutAnswer.unknown(reader) }
        try entry.read(name, &reader)
      }
      self = entry
    }

    private mutating func read(_ name: String, _ reader: inout JSONReader) throws {
      switch name {
      case "id": id = try reader.string()
      case "decision": word = try reader.string()
      case "set": set = try Self.members(&reader)
      case "replace": replace = try Self.members(&reader)
      case "code": code = try reader.string()
      case "message": message = try reader.string()
      case "fields":
        var problems: [Rejection.FieldError] = []
        try reader.array { problems.append(try Self.problem(&$0)) }
        fields = problems
      default: throw CalloutAnswer.unknown(reader)
      }
    }

    private static func members(_ reader: inout JSONReader) throws -> [String: JSONValue] {
      var members: [String: JSONValue] = [:]
      try reader.object { members[$0] = try JSONValue(from: &$1) }
      return members
    }

    private static func problem(_ reader: inout JSONReader) throws -> Rejection.FieldError {
      var problem = Rejection.FieldError(field: "", code: "", message: "")
      try reader.object { name, reader in
        switch name {
        case "field": problem.field = try reader.string()
        case "code": problem.code = try reader.string()
        case "message": problem.message = try reader.string()
        default: throw CalloutAnswer.unknown(reader)
        }
      }
      return problem
    }

    /// The decision, or `nil` if the word is unknown or the members don't fit it.
    var decision: WriteDecision? {
      switch (word, set, replace, code, message) {
      case ("accept", nil, nil, nil, nil) where fields == nil: .accept
      case ("amend", let set?, nil, nil, nil) where fields == nil: .amend(setting: set)
      case ("amend", nil, let all?, nil, nil) where fields == nil: .amend(replacingAllBy: all)
      case ("refuse", nil, nil, let code?, let message?): .refuse(code, message, fields: fields ?? [])
      default: nil
      }
    }
  }
}
