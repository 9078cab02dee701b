import Bars
import BothyStore

/// Sums, groups, joins and SQL through the store beside the same questions written by hand on kept statements. Both read
/// the same file, by turns, and make the same values.
struct QuestionRun {
  let rows: Int
  let repetitions: Int
  let folder: String

  /// A question in both forms, each of which returns a number that depends on all of its rows.
  struct Question {
    var name: String
    var limit: Double
    var asked: (ReadTransaction) throws -> Int
    var byHand: () throws -> Int
  }

  /// Returns a bar for each question. Throws if the answers differ.
  func bars() throws -> [Bar] {
    let path = "\(folder)/questions.db"
    let store = try LocalStore(at: path, schema: StoreSchema(types: [Hut.schema, Night.schema]))
    try fill(store)
    let connection = try Connection(path, schema: "")
    defer { connection.close() }
    var bars: [Bar] = []
    for question in try Self.questions(connection) {
      bars.append(
        Bar(
          claim: "\(question.name): Bothy / hand-written SQL", measured: try ratio(question, store),
          limit: question.limit))
    }
    try store.close()
    return bars
  }

  private func fill(_ store: LocalStore) throws {
    let huts = max(10, rows / 100)
    try store.write { transaction in
      for number in 0..<huts { try transaction.insert(Hut(number)) }
      for number in 0..<rows { try transaction.insert(Night(number, huts: huts)) }
    }
  }

  /// Returns the median of the ratios of rounds, in which the forms take turns in beginning.
  private func ratio(_ question: Question, _ store: LocalStore) throws -> Double {
    var ratios: [Double] = []
    for round in 0...max(7, repetitions) {
      var times = [0.0, 0.0]
      var answers = [0, 0]
      for which in [round % 2, 1 - round % 2] {
        times[which] = try seconds {
          answers[which] = which == 0 ? try store.read(question.asked) : try question.byHand()
        }
      }
      guard answers[0] == answers[1] else {
        throw BenchmarkError("\(question.name): the answers \(answers[0]) and \(answers[1]) differ")
      }
      // The first round prepares the statements.
      if round > 0 { ratios.append(times[0] / times[1]) }
    }
    return ratios.median ?? 0
  }
}

/// A hut, the parent of nights.
struct Hut: Entity {
  struct Fields: Sendable {
    let name = Field<String>("name")
    let beds = Field<Int>("beds")
  }
  static let fields = Fields()
  static let schema = TypeSchema(
    "Hut", fields: [.field("name", String.self), .field("beds", Int.self)], synced: false)

  var id: String
  var name: String
  var beds: Int

  init(_ number: Int) { (id, name, beds) = ("hut-\(number)", "Hut number \(number)", number % 40) }

  init(id: String, name: String, beds: Int) { (self.id, self.name, self.beds) = (id, name, beds) }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    name = try String(fromField: &fields)
    beds = try Int(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    name.encodeField(to: &fields)
    beds.encodeField(to: &fields)
  }
}

/// A night in a hut.
struct Night: Entity {
  struct Fields: Sendable {
    let hut = Field<Reference<Hut>>("hut")
    let year = Field<Int>("year")
    let guests = Field<Int>("guests")
    let note = Field<String>("note")
  }
  static let fields = Fields()
  static let schema = TypeSchema(
    "Night",
    fields: [
      .field("hut", Reference<Hut>.self), .field("year", Int.self, indexed: true), .field("guests", Int.self),
      .field("note", String.self),
    ], synced: false)

  var id: String
  var hut: Reference<Hut>
  var year: Int
  var guests: Int
  var note: String

  init(_ number: Int, huts: Int) {
    id = "night-\(number)"
    hut = Reference(id: "hut-\(number % huts)")
    (year, guests, note) = (2000 + number / huts % 25, number % 17, "Night number \(number)")
  }

  init(id: String, hut: Reference<Hut>, year: Int, guests: Int, note: String) {
    (self.id, self.hut, self.year, self.guests, self.note) = (id, hut, year, guests, note)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    hut = try Reference<Hut>(fromField: &fields)
    year = try Int(fromField: &fields)
    guests = try Int(fromField: &fields)
    note = try String(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    hut.encodeField(to: &fields)
    year.encodeField(to: &fields)
    guests.encodeField(to: &fields)
    note.encodeField(to: &fields)
  }
}
