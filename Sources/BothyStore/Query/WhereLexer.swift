/// Splits the text form of a condition into words, values and signs. Ignores their meaning.
struct WhereLexer {
  enum Kind: Equatable {
    /// A field or a keyword.
    case word(String)
    case string(String)
    case value(FieldValue)
    case sign(String)
    case end
  }

  struct Token: Equatable {
    var kind: Kind
    var column: Int
  }

  private let text: String
  private let characters: [Character]
  private var position = 0

  init(_ text: String) {
    self.text = text
    // A quotation mark with an accent behind it is another character in Swift, but it delimits text all the same.
    characters = text.flatMap { (character: Character) -> [Character] in
      let isDelimiter = character.unicodeScalars.contains { $0 == "'" || $0 == "\"" }
      return isDelimiter ? character.unicodeScalars.map { Character($0) } : [character]
    }
  }

  mutating func next() throws(WhereSyntaxError) -> Token {
    while let character = peek, character.isWhitespace { position += 1 }
    let column = position + 1
    guard let first = peek else { return Token(kind: .end, column: column) }
    switch first {
    case "'", "\"": return Token(kind: .string(try string(first)), column: column)
    case "0"..."9", "-", ".": return Token(kind: .value(try number()), column: column)
    case _ where first.isLetter || first == "_":
      return Token(kind: .word(word()), column: column)
    case "(", ")", ",", "[", "]":
      position += 1
      return Token(kind: .sign(String(first)), column: column)
    case "=", "!", "<", ">": return Token(kind: .sign(try comparison()), column: column)
    default:
      throw error("'\(first)' has no place in a condition. Put text in quotes: 'a \(first) b'.", column)
    }
  }

  func error(_ message: String, _ column: Int) -> WhereSyntaxError {
    WhereSyntaxError(message: message, column: column, text: text)
  }

  private var peek: Character? { position < characters.count ? characters[position] : nil }

  private mutating func take(_ belongs: (Character) -> Bool) -> String {
    let start = position
    while let character = peek, belongs(character) { position += 1 }
    return String(characters[start..<position])
  }

  /// Reads a name, or two with a dot between them, like `record.project`.
  private mutating func word() -> String {
    func isPart(_ character: Character) -> Bool {
      character.isLetter || character.isNumber || character == "_"
    }
    var word = take(isPart)
    if peek == ".", position + 1 < characters.count, isPart(characters[position + 1]) {
      position += 1
      word += "." + take(isPart)
    }
    return word
  }

  /// Reads text in quotes. A doubled quote denotes one.
  private mutating func string(_ quote: Character) throws(WhereSyntaxError) -> String {
    let column = position + 1
    var result = ""
    position += 1
    while let character = peek {
      position += 1
      if character != quote {
        result.append(character)
      } else if peek == quote {
        result.append(quote)
        position += 1
      } else {
        return result
      }
    }
    throw error("The text that starts here has no end. Add a closing \(quote).", column)
  }

  private mutating func comparison() throws(WhereSyntaxError) -> String {
    let column = position + 1
    let sign = take { "=!<>".contains($0) }
    switch sign {
    case "=", "!=", "<", "<=", ">", ">=": return sign
    case "==": return "="
    case "<>": return "!="
    default: throw error("'\(sign)' isn't a comparison. Use =, !=, <, <=, > or >=.", column)
    }
  }

  /// Reads a number, or a date in the form of RFC 3339. A unit of length that follows at once, as in 500m, is a word of
  /// its own.
  private mutating func number() throws(WhereSyntaxError) -> FieldValue {
    let column = position + 1
    var word = take { $0.isLetter || $0.isNumber || "+-.:".contains($0) }
    if let unit = ["km", "m"].first(where: word.lowercased().hasSuffix),
      word.dropLast(unit.count).last?.isNumber == true
    {
      word.removeLast(unit.count)
      position -= unit.count
    }
    let scalars = Array(word)
    // A number such as 1.5e-100 has a sign there too.
    let hasYear = scalars.prefix(4).allSatisfy(\.isNumber)
    if scalars.count >= 8, hasYear && scalars[4] == "-" || scalars.contains(":") {
      if let time = Timestamp(rfc3339: word) { return .date(time.milliseconds) }
      throw error("'\(word)' isn't a date. Write 2026-12-01 or 2026-12-01T08:30:00Z.", column)
    }
    do {
      return try JSONReader.read(word) { reader in
        switch try reader.number() {
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        }
      }
    } catch {
      throw self.error("'\(word)' is neither a number nor a date. Put text in quotes: '\(word)'.", column)
    }
  }
}
