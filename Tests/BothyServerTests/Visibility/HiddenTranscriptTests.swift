import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import HTTPTypes
import Testing

/// The responses to one user of a space, with and without the hidden writes of another. `docs/threat-model.md` lists
/// what may differ: the numbers of versions, positions and cursors.
@Suite("A user's responses with and without hidden changes", .timeLimit(.minutes(10)))
struct HiddenTranscriptTests {
  private static let tokens = """
    [{"token":"a","principal":"ann","spaces":["*"]},{"token":"b","principal":"bob","spaces":["*"]}]
    """

  private static func rules(fewHidden: Int) -> AccessRules {
    func type(_ name: String, _ read: Permissions.Access) -> TypeSchema {
      TypeSchema(
        name, fields: [FieldSchema("title", .text)],
        permissions: Permissions(read: read, update: .authenticated, delete: .authenticated, share: .owner))
    }
    var rules = AccessRules(
      schema: StoreSchema(types: [
        type("Open", .anyone), type("Secret", .owner), type("Team", .shared), type("Sealed", .nobody),
      ]))
    rules.fewHiddenChanges = fewHidden
    return rules
  }

  /// Promises: A-33
  @Test("Hidden changes leave no trace in responses", arguments: RandomRuns.seeds(4), [0, 64])
  func equal(seed: UInt64, fewHidden: Int) async throws {
    let script = HiddenScript(seed: seed, length: 120)
    let with = try await Self.transcript(script, withHidden: true, SQLiteServerStorage(), fewHidden)
    let without = try await Self.transcript(script, withHidden: false, SQLiteServerStorage(), fewHidden)
    Self.compare(with, without, "seed \(seed)")
    #expect(without.count > 40)
  }

  @Test(
    "Hidden changes leave no trace in responses from PostgreSQL",
    .enabled(if: PostgresUnderTest.url != nil, PostgresUnderTest.hint),
    arguments: RandomRuns.seeds(2, from: 100),
    [0, 64])
  func equalOnPostgres(seed: UInt64, fewHidden: Int) async throws {
    let script = HiddenScript(seed: seed, length: 120)
    var transcripts: [[String]] = []
    for withHidden in [true, false] {
      try await PostgresUnderTest.with { storage in
        transcripts.append(
          try await Self.transcript(script, withHidden: withHidden, storage, fewHidden))
      }
    }
    Self.compare(transcripts[0], transcripts[1], "seed \(seed)")
  }

  private static func compare(_ one: [String], _ other: [String], _ comment: Comment) {
    let difference = zip(one, other).first { $0 != $1 }
    #expect(one.count == other.count && difference == nil, "\(comment): \(String(describing: difference))")
  }

  /// Runs a script on a new server and returns Bob's requests and responses.
  private static func transcript(
    _ script: HiddenScript, withHidden: Bool, _ storage: any ServerStorage, _ fewHidden: Int
  ) async throws -> [String] {
    let server = try ServerUnderTest(
      rules: rules(fewHidden: fewHidden), tokens: tokens, storage: storage)
    let witness = Witness()
    try await server.run { call async throws in
      let (ann, bob) = (call.with(token: "a"), call.with(token: "b"))
      for step in script.steps {
        switch step.author {
        case .annHidden where !withHidden: continue
        case .ann, .annHidden: try await Self.write(step, ann)
        case .bob: try await witness.send(step, bob)
        }
      }
    }
    return await witness.transcript
  }

  private static func write(_ step: ScriptStep, _ ann: RouteClient) async throws {
    let reply = try await ann(step.method, step.path, step.body, step.isConditional ? [.ifMatch: "*"] : [:])
    // Records of the type that no user sees can be created, and then neither found nor changed.
    let isSealed = step.path.contains("/records/Sealed/")
    #expect(reply.status < 300 || isSealed, "\(step.method) \(step.path): \(reply.text)")
  }
}

/// The user whose responses are compared. It keeps cursors and tags, and replaces the numbers that may differ.
private actor Witness {
  private(set) var transcript: [String] = []
  private var kept: [String: String] = [:]
  private var tags: [String: String] = [:]
  /// The names of versions, positions and tags, in the order in which they were first seen.
  private var names: [String: String] = [:]

  func send(_ step: ScriptStep, _ call: RouteClient) async throws {
    var path = step.path
    if let name = step.keeps {
      let option = name.hasPrefix("cursor") ? "&cursor=" : "&before="
      path = path.replacing("\(option){\(name)}", with: kept[name].map { option + $0 } ?? "")
    }
    var headers: HTTPFields = [:]
    if step.isConditional {
      if step.method == .get { headers[.ifNoneMatch] = tags[path] } else { headers[.ifMatch] = "*" }
    }
    let reply = try await call(step.method, path, step.body, headers)
    let json = reply.bytes.isEmpty ? JSONValue.null : try reply.json()
    if let name = step.keeps { kept[name] = Self.next(in: json) }
    tags[path] = reply.tag
    let tag = reply.tag.map { name($0.replacing("W/", with: "").replacing("\"", with: "")) } ?? ""
    let isDigest = path.contains("/digest")
    transcript.append(
      "\(step.method) \(step.path) \(step.body ?? ""): \(reply.status) \(tag) "
        + "\(reply.headers[.location] ?? "") \(replaced(json, isDigest).canonicalText)")
  }

  /// Returns the cursor of a page of changes, or the position of the next page of history.
  private static func next(in json: JSONValue) -> String? {
    if let cursor = json["cursor"]?.stringValue { return cursor }
    if case .int(let position)? = json["next"] { return String(position) }
    return nil
  }

  private func name(_ number: String) -> String {
    if let name = names[number] { return name }
    let name = "#\(names.count)"
    names[number] = name
    return name
  }

  /// Returns the JSON without cursors and request ids, and with names in place of versions and positions.
  private func replaced(_ json: JSONValue, _ isDigest: Bool) -> JSONValue {
    switch json {
    case .array(let items): return .array(items.map { replaced($0, isDigest) })
    case .object(let members):
      var result: [String: JSONValue] = [:]
      for (key, value) in members.sorted(by: { $0.key < $1.key }) {
        switch (key, value) {
        case ("cursor", _), ("history", _), ("requestId", _): continue
        case ("position", _) where isDigest: continue
        case ("version", .string(let text)), ("validator", .string(let text)):
          result[key] = .string(name(text))
        case ("position", .int(let number)), ("next", .int(let number)):
          result[key] = .string(name(String(number)))
        default: result[key] = replaced(value, isDigest)
        }
      }
      return .object(result)
    default: return json
    }
  }
}
