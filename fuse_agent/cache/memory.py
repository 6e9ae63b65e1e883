class Memory:
    def __init__(self,budget): self.d={}
    def has(self,k,b): return (k,b) in self.d
    def get(self,k,b): return self.d.get((k,b))
    def put(self,k,b,data): self.d[k,b]=data
