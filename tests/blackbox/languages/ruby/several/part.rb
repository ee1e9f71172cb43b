module Part
  def self.join(words) = words.join("+")
end
