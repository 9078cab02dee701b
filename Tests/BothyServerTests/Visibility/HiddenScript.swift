import BothyStore
import BothyTesting
import HTTPTypes

/// One request of a script, and its author.
struct ScriptStep: Sendable {
  enum Author { case ann, annHidden, bob }
  var author: Author
  var method: HTTPRequest.Method
  var path: String
  var body: String?
  /// Sends `If-Match: *`, or as `If-None-Match` the tag of the last response to the path.
  var isConditional = false
  /// The name under which the cursor or page of the response is kept. `{NAME}` in later steps stands for it.
  var keeps: String?
}

/// Random requests of two users of one space. Ann writes records that Bob can see, and records that he never can. Bob
/// reads by every route, and writes records of his own.
struct HiddenScript {
  private var random: SeededGenerator
  private(set) var steps: [ScriptStep] = []
  /// The records that exist, by path.
  private var live: Set<String> = []
  /// Records that Bob can't see any more.
  private var lost: [String] = []
  private var hasList = false
  private var hasHiddenList = false
  private static let containers = ["Open", "Secret", "box", "box/in"]
  private static let space = "/v1/spaces/hut"

  init(seed: UInt64, length: Int) {
    random = SeededGenerator(seed: seed)
    write(.ann, "Open/o0", "start")
    for number in 0..<length {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<2: visible(number)
      case 2..<5: hidden(number)
      case 5..<7: ownWrite(number)
      default: read()
      }
    }
    // All of Bob's places are read at the end.
    for _ in 0..<20 { read() }
  }

  private mutating func pick<Element>(_ choices: [Element]) -> Element {
    choices[Int.random(in: choices.indices, using: &random)]
  }

  private mutating func add(
    _ author: ScriptStep.Author, _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil,
    isConditional: Bool = false, keeps: String? = nil
  ) {
    steps.append(
      ScriptStep(
        author: author, method: method, path: Self.space + path, body: body, isConditional: isConditional,
        keeps: keeps))
  }

  /// Creates or replaces a record.
  private mutating func write(_ author: ScriptStep.Author, _ record: String, _ title: String) {
    let container = pick(Self.containers)
    add(
      author, .put, "/records/\(record)", #"{"container":"\#(container)","fields":{"title":"\#(title)"}}"#,
      isConditional: live.contains(record))
    live.insert(record)
  }

  private mutating func delete(_ author: ScriptStep.Author, _ record: String) {
    guard live.remove(record) != nil else { return }
    add(author, .delete, "/records/\(record)", isConditional: true)
  }

  // MARK: Ann's writes

  private mutating func visible(_ number: Int) {
    let record = "Open/o\(Int.random(in: 0..<5, using: &random))"
    switch Int.random(in: 0..<6, using: &random) {
    case 0..<3: write(.ann, record, "v\(number)")
    case 3: delete(.ann, record)
    case 4: share("Team/t\(number)", random.chance(50) ? #""principals":["bob"]"# : #""lists":["L"]"#)
    default: unshare()
    }
  }

  private mutating func share(_ record: String, _ audience: String) {
    if !hasList {
      add(.ann, .post, "/lists", #"{"id":"L","name":"friends","members":["bob"]}"#)
      hasList = true
    }
    write(.ann, record, "shared")
    add(.ann, .post, "/records/\(record)/share", "{\"add\":{\(audience)}}")
    if random.chance(50) { write(.ann, record, "shared and edited") }
  }

  /// Ends the sharing of a record for good. Later changes of it are hidden.
  private mutating func unshare() {
    let shared = live.filter { $0.hasPrefix("Team/t") && !lost.contains($0) }.sorted()
    guard let record = shared.first else { return }
    add(.ann, .post, "/records/\(record)/share", #"{"remove":{"principals":["bob"],"lists":["L"]}}"#)
    lost.append(record)
  }

  private mutating func hidden(_ number: Int) {
    let kind = pick(["Secret", "Team", "Sealed"])
    let record = "\(kind)/h\(Int.random(in: 0..<4, using: &random))"
    switch Int.random(in: 0..<8, using: &random) {
    case 0..<4: write(.annHidden, record, "h\(number)")
    case 4 where kind != "Sealed": delete(.annHidden, record)
    case 5 where kind == "Team" && live.contains(record):
      add(.annHidden, .post, "/records/\(record)/share", #"{"add":{"principals":["cid"]}}"#)
    case 6: hiddenList(number)
    default: if let record = lost.first { write(.annHidden, record, "gone\(number)") }
    }
  }

  private mutating func hiddenList(_ number: Int) {
    if hasHiddenList {
      add(
        .annHidden, .put, "/lists/M", #"{"name":"n\#(number)","members":["cid","dan"]}"#, isConditional: true)
    } else {
      add(.annHidden, .post, "/lists", #"{"id":"M","name":"others","members":["cid"]}"#)
    }
    hasHiddenList = true
  }

  // MARK: Bob

  private mutating func ownWrite(_ number: Int) {
    let (own, hidden) = ("Secret/b\(Int.random(in: 0..<3, using: &random))", target())
    switch Int.random(in: 0..<7, using: &random) {
    case 0: write(.bob, own, "b\(number)")
    case 1: delete(.bob, own)
    case 2: add(.bob, .patch, "/records/\(hidden)", #"{"title":"x"}"#, isConditional: true)
    case 3: add(.bob, .delete, "/records/\(hidden)", isConditional: true)
    case 4: add(.bob, .post, "/records/\(hidden)/share", #"{"add":{"principals":["bob"]}}"#)
    case 5: add(.bob, .put, "/records/\(hidden)", #"{"fields":{"title":"x"}}"#, isConditional: true)
    default: sync(number, hidden)
    }
  }

  /// Returns a record that Bob can't see, or that doesn't exist.
  private mutating func target() -> String {
    let kind = pick(["Secret", "Team", "Sealed"])
    return "\(kind)/\(pick(["h0", "h1", "h2", "h3", "none"]))"
  }

  private mutating func sync(_ number: Int, _ hidden: String) {
    let parts = hidden.split(separator: "/")
    let target = #""type":"\#(parts[0])","record":"\#(parts[1])""#
    let new = "Secret/n\(number)"
    live.insert(new)
    let operations = [
      #"{"id":"a\#(number)","kind":"insert","type":"Secret","record":"n\#(number)","fields":{"title":"n"}}"#,
      #"{"id":"b\#(number)","kind":"update",\#(target),"base":"1","fields":{"title":"x"}}"#,
      #"{"id":"c\#(number)","kind":"delete",\#(target),"base":"1"}"#,
      #"{"id":"d\#(number)","kind":"update",\#(target),"base":"1","sharing":{"add":{"lists":["M"]}}}"#,
    ]
    add(
      .bob, .post, "/sync",
      #"{"device":"d","operations":[\#(operations.joined(separator: ","))],"pulls":[{"container":"box"}]}"#)
  }

  private mutating func read() {
    let container = pick(Self.containers)
    let limit = pick([1, 2, 1000])
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<3: pull(container, limit)
    case 3: add(.bob, .get, "/records/\(target())")
    case 4:
      let type = pick(["Open", "Secret", "Team", "Sealed", "bothy_list"])
      add(
        .bob, .post, pick(["/query", "/count"]), #"{"type":"\#(type)","limit":\#(limit),"offset":1}"#)
    case 5:
      let path = pick(["", "/\(container)", "/\(container)?children=true"])
      add(.bob, .get, "/containers\(path)", isConditional: true)
    case 6:
      add(
        .bob, .get, pick(["/digest?parts=4", "/stamps?parts=4&in=0,1,2,3", "/digest?container=box"]))
    case 7: history(container, limit)
    case 8: add(.bob, .get, pick(["/lists", "/lists/M", "/lists/L", "/joined-lists"]))
    default: add(.bob, .get, "/records/Open/o\(Int.random(in: 0..<5, using: &random))")
    }
  }

  private mutating func pull(_ container: String, _ limit: Int) {
    let scope = pick(["", "&container=\(container)", "&container=\(container)&children=true"])
    let name = "cursor\(scope)"
    add(.bob, .get, "/changes?limit=\(limit)\(scope)&cursor={\(name)}", keeps: name)
  }

  private mutating func history(_ container: String, _ limit: Int) {
    let hidden = target().split(separator: "/")
    let part = pick(["", "&container=\(container)", "&type=\(hidden[0])&id=\(hidden[1])"])
    let name = "next\(part)"
    add(.bob, .get, "/history?limit=\(limit)\(part)&before={\(name)}", keeps: name)
  }
}
